import { createWriteStream, mkdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import got from 'got';
import { localFiles } from '../platform/local-dir.ts';
import { LocalPlatform } from '../platform/local-platform.ts';
import { platformFile, type Platform } from '../platform/platform-file.ts';
import { Progress } from '../machine/progress.ts';
import { runFiles, type Run } from './run-folder.ts';

/** A platform that is about to be disturbed. */
export interface Victim {
  addresses: Platform;
  /** The pids of now, from platform.json. */
  processes(): Record<string, number>;
  /** Names of what is not ready at this moment. */
  unready(): Promise<string[]>;
  /** The supervisor's own address: the sandbox's control is away while the sandbox is. */
  control: string;
  close(): Promise<void>;
}

/** Quick retries and quick judgements, so that minutes show what takes days; nothing may die of too many attempts. */
const tuned = {
  RETRY_BASE_MS: '500',
  RETRY_FACTOR: '2',
  RETRY_MAX_MS: '4000',
  RETRY_MAX_ATTEMPTS: '1000',
  FAILING_AFTER_MS: '3000',
  FAILING_RETRY_MAX_MS: '2000',
};
const askTimeoutMs = 2_000;

/** The whole platform, as `npm start` runs it, in the folder of the run; what the supervisor says goes to a file. */
export async function openPlatform(
  folder: string,
  { port, instances }: Run,
  signal: AbortSignal,
): Promise<Victim> {
  const files = runFiles(folder);
  const { KAFKA_TOPIC_PREFIX, ...environment } = process.env;
  mkdirSync(files.platform, { recursive: true });
  const platform = new LocalPlatform(
    { port, instances, localDir: files.platform, deployment: 'sandbox', once: false },
    { ...environment, ...tuned, ...topicsOfItsOwn(environment, folder) },
    new Progress(createWriteStream(files.platformLog, { flags: 'a' })),
  );
  const breakOff = (): void => void platform.close();
  signal.addEventListener('abort', breakOff);
  const local = localFiles(files.platform);
  try {
    const addresses = await platform.open();
    signal.throwIfAborted();
    signal.removeEventListener('abort', breakOff); // from here on it is stopped before its receivers are
    const current = () => platformFile.parse(JSON.parse(readFileSync(local.platform, 'utf8')));
    const ports = JSON.parse(readFileSync(local.ports, 'utf8')) as Record<string, number>;
    return {
      addresses,
      processes: () => current().processes,
      unready: async () => {
        const there = current().processes;
        const gone = Object.keys(addresses.processes).filter((name) => there[name] === undefined);
        const asked = Object.entries(addresses.ops).map(async ([name, url]) =>
          (await isReady(url)) ? [] : [name],
        );
        return [...new Set([...gone, ...(await Promise.all(asked)).flat()])];
      },
      control: `http://127.0.0.1:${ports['control']}`,
      close: () => platform.close(),
    };
  } catch (error) {
    await platform.close();
    throw error;
  }
}

/** With brokers of one's own, which other runs may have used. */
const topicsOfItsOwn = (environment: NodeJS.ProcessEnv, folder: string): NodeJS.ProcessEnv =>
  environment['KAFKA_BROKERS'] ? { KAFKA_TOPIC_PREFIX: topicPrefixOf(folder) } : {};

export const topicPrefixOf = (folder: string): string =>
  process.env['KAFKA_BROKERS'] ? `${basename(folder)}.` : '';

async function isReady(ops: string): Promise<boolean> {
  const answer = got(`${ops}/readyz`, {
    throwHttpErrors: false,
    retry: { limit: 0 },
    timeout: { request: askTimeoutMs },
  });
  return answer.then(
    ({ statusCode }) => statusCode === 200,
    () => false,
  );
}
