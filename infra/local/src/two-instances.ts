// npm run two-instances: two of each service under a steady load; one of them is killed, stopped or frozen, and it is
// measured how long anything waited for the other to take over. Exit code 0 only if every limit is kept.
import { runUntilStopped } from './processes/run-until-stopped.ts';
import { runTwoInstances } from './two-instances/run-two-instances.ts';

await runUntilStopped((signal) => runTwoInstances(process.env, signal));
