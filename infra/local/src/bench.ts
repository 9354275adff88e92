// npm run bench [-- <row> …]: how fast the platform is, each figure beside a limit measured in the same run. Exit code 0 only
// if every goal is met.
import { runBench } from './bench/run-bench.ts';
import { runUntilStopped } from './processes/run-until-stopped.ts';

await runUntilStopped((signal) => runBench(process.argv.slice(2), process.env, signal));
