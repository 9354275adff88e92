// npm run submission-kills: KILLS (200) SIGKILLs of the applications service at random moments of a running load, from SEED
// (1), and the proof that no submission was lost, doubled or left undecided. A run that was broken off goes on when it is
// started again with its seed.
import { runProof } from './test-run/run-proof.ts';

process.exitCode = await runProof('submission-kills', 'applications', 'test/kills/run-kills.ts');
