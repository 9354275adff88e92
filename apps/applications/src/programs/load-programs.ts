import { readdir, readFile } from 'node:fs/promises';
import { basename, join, relative } from 'node:path';
import { z } from 'zod';
import { checkPack } from './check-pack.ts';
import { readPack, type PackFile } from './pack-file.ts';
import { catalogueFaults, createProgramCatalogue, type ProgramCatalogue } from './program-catalogue.ts';

/** Its pack is a template for every code that is named nowhere else. */
const TEMPLATE_FOLDER = '_template';

/** What is wrong with the packs, all of it, in words for the person who wrote them. */
export class BadPrograms extends Error {
  constructor(faults: string[]) {
    super(`The programs are not usable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'BadPrograms';
  }
}

/**
 * Reads the packs of the given sets: `<set>/<CODE>/program.json`, and beside it `program.v<N>.json` for versions before
 * or after it. Throws BadPrograms when one is not sound.
 */
export async function loadPrograms(folder: string, sets: string[]): Promise<ProgramCatalogue> {
  const files: PackFile[] = [];
  const faults: string[] = [];
  for (const path of await packPaths(folder, sets, faults)) {
    const name = relative(folder, path);
    const directory = basename(join(path, '..'));
    try {
      const file = readPack(
        directory === TEMPLATE_FOLDER ? 'template' : 'program',
        JSON.parse(await readFile(path, 'utf8')),
      );
      files.push(file);
      faults.push(...checkPack(file, directory).map((fault) => `${name}: ${fault}`));
    } catch (error) {
      faults.push(...whyUnreadable(error).map((why) => `${name}: ${why}`));
    }
  }
  faults.push(...catalogueFaults(files));
  if (faults.length > 0) throw new BadPrograms(faults);
  return createProgramCatalogue(files);
}

/** At the start of the service: what is wrong is printed, and the process ends with 1. */
export async function loadProgramsOrExit(folder: string, sets: string[]): Promise<ProgramCatalogue> {
  try {
    return await loadPrograms(folder, sets);
  } catch (error) {
    if (!(error instanceof BadPrograms)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}

async function packPaths(folder: string, sets: string[], faults: string[]): Promise<string[]> {
  const paths: string[] = [];
  for (const set of sets) {
    const names = await readdir(join(folder, set), { recursive: true }).catch(() => {
      faults.push(`PROGRAM_SETS names ${set}, and there is no such folder of programs`);
      return [];
    });
    const packs = names.filter((name) => /^[^/]+\/program(\.v\d+)?\.json$/.test(name));
    paths.push(...packs.sort().map((name) => join(folder, set, name)));
  }
  return paths;
}

/** What a person is told of a file that is not JSON, or not of the shape that it should have. */
export function whyUnreadable(error: unknown): string[] {
  if (error instanceof z.ZodError) {
    return error.issues
      .flatMap((issue) => faultsIn(issue, []))
      .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`));
  }
  return [`is not JSON: ${error instanceof Error ? error.message : 'it cannot be read'}`];
}

interface ShapeFault {
  path: PropertyKey[];
  message: string;
}

/** Of a choice between shapes the one that fits furthest is the one that was meant. */
function faultsIn(issue: z.core.$ZodIssue, within: PropertyKey[]): ShapeFault[] {
  const path = [...within, ...issue.path];
  const here = [{ path, message: issue.message }];
  if (issue.code !== 'invalid_union') return here;
  const depthOf = (faults: ShapeFault[]): number => Math.max(0, ...faults.map((fault) => fault.path.length));
  return issue.errors
    .map((branch) => branch.flatMap((each) => faultsIn(each, path)))
    .reduce((furthest, faults) => (depthOf(faults) > depthOf(furthest) ? faults : furthest), here);
}
