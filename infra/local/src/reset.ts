// npm run reset: removes all that the local platform keeps. Packages and Kafka's jars stay.
import { rmSync } from 'node:fs';
import { localFiles, runningIn } from './local-dir.ts';
import { localDirOf } from './paths.ts';
import { endLeftBehind } from './process-ledger.ts';
import { removeKafkaVolume } from './start-kafka-container.ts';

const localDir = localDirOf(process.env);
const files = localFiles(localDir);
const running = runningIn(localDir);
if (running !== undefined) {
  console.error(
    `The platform runs (process ${running.pid}, ${running.gateway}). Stop it first: Ctrl-C, or kill ${running.pid}`,
  );
  process.exit(1);
}
await endLeftBehind(files.ledger);
await removeKafkaVolume(files.kafka);
rmSync(localDir, { recursive: true, force: true });
console.log(`Removed ${localDir}. The next "npm start" begins with empty databases.`);
