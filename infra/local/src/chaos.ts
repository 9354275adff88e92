// npm run chaos: a platform of its own under load, its processes killed, frozen and held at random, and the proof from an
// independent ledger that nothing was lost. Exit code 0 only if all of it holds.
import { chaosSettings } from './chaos/chaos-settings.ts';
import { runChaos } from './chaos/run-chaos.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { onStopSignal } from './processes/stop-signal.ts';

const stopping = new AbortController();
onStopSignal(() => stopping.abort());
try {
  process.exitCode = await runChaos(chaosSettings(process.env), stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof MachineFault)) throw error;
  if (error instanceof MachineFault) console.error(error.message);
  process.exitCode = stopping.signal.aborted ? 130 : 1;
}
