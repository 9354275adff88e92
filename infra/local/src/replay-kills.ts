// npm run replay-kills: a replay of many events to one subscriber, the dispatcher killed again and again while it runs. Exit
// code 0 only if it completes with every event, and what it had delivered was never seen to go back.
import { runUntilStopped } from './processes/run-until-stopped.ts';
import { runReplayKills } from './replay-kills/run-replay-kills.ts';

await runUntilStopped((signal) => runReplayKills(process.env, signal));
