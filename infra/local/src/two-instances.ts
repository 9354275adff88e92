// npm run two-instances: two of each service under a steady load; one of them is killed, stopped or frozen, and it is
// measured how long anything waited for the other to take over. Exit code 0 only if every limit is kept.
import { MachineFault } from './machine/machine-fault.ts';
import { onStopSignal } from './processes/stop-signal.ts';
import { runTwoInstances } from './two-instances/run-two-instances.ts';

const stopping = new AbortController();
onStopSignal(() => stopping.abort());
try {
  process.exitCode = await runTwoInstances(process.env, stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof MachineFault)) throw error;
  if (error instanceof MachineFault) console.error(error.message);
  process.exitCode = stopping.signal.aborted ? 130 : 1;
}
