// npm run bench [-- <row> …]: how fast the platform is, each figure beside a limit measured in the same run. Exit code 0 only
// if every goal is met.
import { runBench } from './bench/run-bench.ts';
import { MachineFault } from './machine/machine-fault.ts';
import { onStopSignal } from './processes/stop-signal.ts';

const stopping = new AbortController();
onStopSignal(() => stopping.abort());
try {
  process.exitCode = await runBench(process.argv.slice(2), process.env, stopping.signal);
} catch (error) {
  if (!stopping.signal.aborted && !(error instanceof MachineFault)) throw error;
  if (error instanceof MachineFault) console.error(error.message);
  process.exitCode = stopping.signal.aborted ? 130 : 1;
}
