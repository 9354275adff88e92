// npm run replay-kills: a replay of many events to one subscriber, the dispatcher killed again and again while it runs. Exit
// code 0 only if it completes with every event, and what it had delivered was never seen to go back.
import { runReplayKills } from './replay-kills/run-replay-kills.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { onStopSignal } from './processes/stop-signal.ts';

const stopping = new AbortController();
onStopSignal(() => stopping.abort());
try {
  process.exitCode = await runReplayKills(process.env, stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof MachineFault)) throw error;
  if (error instanceof MachineFault) console.error(error.message);
  process.exitCode = stopping.signal.aborted ? 130 : 1;
}
