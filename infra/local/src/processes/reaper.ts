// Run beside the supervisor: `reaper.ts <ledger> <file to remove>…`. Its standard input closes when the supervisor is
// gone, however that came about; then it ends all that the supervisor started.
import { rmSync } from 'node:fs';
import { endLeftBehind } from './process-ledger.ts';

const [ledger, ...filesToRemove] = process.argv.slice(2);
if (ledger === undefined) throw new Error('A ledger is needed');

process.stdin.resume().on('end', () => {
  void endLeftBehind(ledger).then(() => {
    for (const file of filesToRemove) rmSync(file, { recursive: true, force: true });
    process.exit(0);
  });
});
