// npm run chaos: a platform of its own under load, its processes killed, frozen and held at random, and the proof from an
// independent ledger that nothing was lost. Exit code 0 only if all of it holds.
import { chaosSettings } from './chaos/chaos-settings.ts';
import { runChaos } from './chaos/run-chaos.ts';
import { runUntilStopped } from './processes/run-until-stopped.ts';

await runUntilStopped((signal) => runChaos(chaosSettings(process.env), signal));
