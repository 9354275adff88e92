// npm run model: RUNS (2000) random histories of the applications service, crashes among them, against a reference model
// of its statuses, from SEED (1). A run that was broken off goes on when it is started again with its seed.
import { runProof } from './test-run/run-proof.ts';

process.exitCode = await runProof('model', 'applications', 'test/model/run-model.ts');
