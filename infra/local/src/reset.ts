// npm run reset: removes all that the local platform keeps. Packages and Kafka's jars stay.
import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { localFiles, runningIn } from './platform/local-dir.ts';
import { localDirOf } from './machine/paths.ts';
import { endLeftBehind } from './processes/process-ledger.ts';
import { removeKafkaVolume } from './kafka/start-kafka-container.ts';

process.exitCode = await reset(localDirOf(process.env));

async function reset(localDir: string): Promise<number> {
  const files = localFiles(localDir);
  const running = runningIn(localDir);
  if (running !== undefined) {
    console.error(
      `The platform runs (process ${running.pid}, ${running.gateway}). Stop it first: Ctrl-C, or kill ${running.pid}`,
    );
    return 1;
  }
  await endLeftBehind(files.ledger);
  await removeKafkaVolume(files.kafka);
  try {
    remove(localDir, Object.values(files));
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException;
    console.error(`${path ?? localDir} cannot be removed (${code}). Was it made by another user?`);
    return 1;
  }
  console.log(`Removed the data in ${localDir}. The next "npm start" begins with empty databases.`);
  return 0;
}

/** Nothing but what the platform made, whatever folder LOCAL_DIR names. */
function remove(localDir: string, made: string[]): void {
  for (const path of made) {
    for (const ending of ['', '.new', '.properties']) rmSync(path + ending, { recursive: true, force: true });
  }
  if (existsSync(localDir) && readdirSync(localDir).length === 0) rmdirSync(localDir);
}
