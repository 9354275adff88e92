import { accessSync, constants, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { MachineFault } from '../machine/machine-fault.ts';
import { endLeftBehind } from '../processes/process-ledger.ts';
import { startTimeOf } from '../processes/start-time-of.ts';

const owner = z.object({ pid: z.number().int(), startTime: z.string(), gateway: z.string() });
export type Owner = z.infer<typeof owner>;

/** Where things lie in the folder of the local platform. */
export const localFiles = (localDir: string) => ({
  owner: join(localDir, 'supervisor.json'),
  ledger: join(localDir, 'processes.json'),
  platform: join(localDir, 'platform.json'),
  secrets: join(localDir, 'secrets.json'),
  ports: join(localDir, 'ports.json'),
  logs: join(localDir, 'logs'),
  postgres: join(localDir, 'postgres'),
  kafka: join(localDir, 'kafka'),
  sandbox: join(localDir, 'sandbox'),
  compileCache: join(localDir, 'compile-cache'),
});

/**
 * Makes the folder ours: only one platform runs in it, and what a killed one left running is ended.
 * Returns the names of what was left.
 */
export async function claimLocalDir(localDir: string, gateway: string): Promise<string[]> {
  const files = localFiles(localDir);
  try {
    mkdirSync(files.logs, { recursive: true });
    for (const folder of [localDir, files.logs])
      accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    claim(localDir, gateway);
  } catch (error) {
    if (error instanceof MachineFault) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new MachineFault(
      `The folder ${localDir} cannot be used (${code}). ` +
        'It must be a folder that you may read and write; was it made by another user? ' +
        'Remove it, change its owner, or choose another with LOCAL_DIR.',
    );
  }
  const ended = await endLeftBehind(files.ledger);
  rmSync(files.platform, { force: true });
  return ended;
}

export function releaseLocalDir(localDir: string): void {
  const files = localFiles(localDir);
  rmSync(files.platform, { force: true });
  rmSync(files.owner, { force: true });
}

/** The platform that runs in the folder, if one does. */
export function runningIn(localDir: string): Owner | undefined {
  try {
    const found = owner.parse(JSON.parse(readFileSync(localFiles(localDir).owner, 'utf8')));
    return startTimeOf(found.pid) === found.startTime ? found : undefined;
  } catch {
    return undefined;
  }
}

function claim(localDir: string, gateway: string): void {
  const running = runningIn(localDir);
  if (running !== undefined) {
    throw new MachineFault(
      `The platform runs already, at ${running.gateway} (process ${running.pid}). Stop that one with Ctrl-C ` +
        `(or: kill ${running.pid}), or start another beside it: PORT=8090 LOCAL_DIR=.local-2 npm start`,
    );
  }
  const { owner: file } = localFiles(localDir);
  rmSync(file, { force: true });
  const ours: Owner = { pid: process.pid, startTime: startTimeOf(process.pid) ?? '', gateway };
  writeFileSync(file, JSON.stringify(ours), { flag: 'wx' }); // of two that start at once, one fails
}
