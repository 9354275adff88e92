import { randomInt } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { localDirOf, paths } from '../machine/paths.ts';
import { MachineFault } from '../machine/machine-fault.ts';
import { wholeNumber } from '../machine/whole-number.ts';

export interface ChaosSettings {
  /** Disturbances in all, those of the parts of a continued run included. */
  kills: number;
  seed: number;
  /** Processes of each service. */
  instances: number;
  /** Of the gateway; a free one if absent. */
  port: number | undefined;
  /** Where runs lie, each in a folder of its own. */
  folder: string;
  /** The folder of a run to go on with. */
  continued: string | undefined;
}

const usage = `Usage: npm run chaos
Variables: KILLS (10), SEED (a random one), INSTANCES (1), PORT (a free one), CONTINUE (the folder of an interrupted run)`;

export function chaosSettings(environment: NodeJS.ProcessEnv): ChaosSettings {
  const { CONTINUE } = environment;
  return {
    kills: whole('KILLS', 10, 1, 100_000),
    seed: whole('SEED', randomInt(1, 1_000_000), 0, 2 ** 32 - 1),
    instances: whole('INSTANCES', 1, 1, 9),
    port: environment['PORT'] === undefined ? undefined : whole('PORT', 0, 1, 65_535),
    folder: join(localDirOf(environment), 'chaos'),
    continued: CONTINUE === undefined ? undefined : folderOf(CONTINUE),
  };

  function whole(name: string, fallback: number, least: number, most: number): number {
    return wholeNumber(environment, { name, fallback, least, most, usage });
  }
}

/** Of a run's folder, or of any file in it. */
function folderOf(given: string): string {
  const path = resolve(paths.root, given);
  const folder = statSync(path, { throwIfNoEntry: false })?.isFile() ? dirname(path) : path;
  if (existsSync(join(folder, 'run.json'))) return folder;
  throw new MachineFault(`CONTINUE=${given} is no run: there is no run.json in it.\n${usage}`);
}
