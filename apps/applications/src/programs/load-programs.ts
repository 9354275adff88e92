import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { checkPack } from './check-pack.ts';
import { createProgramCatalogue, type ProgramCatalogue } from './program-catalogue.ts';
import { programPack, templatePack, type ProgramPack, type TemplatePack } from './program-pack.ts';

/** A folder whose name is not a program's code: its pack is a template for every code that is named nowhere else. */
const TEMPLATE_FOLDER = '_template';

/** What is wrong with the packs, all of it, in words for the person who wrote them. */
export class BadPrograms extends Error {
  readonly faults: string[];

  constructor(faults: string[]) {
    super(`The programs are not usable:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
    this.name = 'BadPrograms';
    this.faults = faults;
  }
}

/**
 * Reads the packs of the given sets: `<set>/<CODE>/program.json`, and beside it `program.v<N>.json` for versions before
 * or after it. Throws BadPrograms when one is not sound.
 */
export async function loadPrograms(folder: string, sets: string[]): Promise<ProgramCatalogue> {
  const packs: ProgramPack[] = [];
  const templates: TemplatePack[] = [];
  const faults: string[] = [];
  for (const set of sets) {
    for (const directory of await foldersOf(join(folder, set), faults)) {
      for (const file of await packFilesOf(directory)) {
        const isTemplate = basename(directory) === TEMPLATE_FOLDER;
        const pack = await readPack(file, isTemplate ? templatePack : programPack, faults);
        if (pack === undefined) continue;
        const name = file.slice(folder.length + 1);
        if (isTemplate) templates.push(pack as TemplatePack);
        else packs.push(pack as ProgramPack);
        faults.push(
          ...checkPack(pack, isTemplate ? undefined : basename(directory)).map((why) => `${name}: ${why}`),
        );
      }
    }
  }
  faults.push(...sameVersions(packs));
  if (faults.length > 0) throw new BadPrograms(faults);
  return createProgramCatalogue(packs, templates);
}

async function foldersOf(set: string, faults: string[]): Promise<string[]> {
  try {
    const entries = await readdir(set, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(set, entry.name));
  } catch {
    faults.push(`PROGRAM_SETS names ${basename(set)}, and there is no such folder of programs`);
    return [];
  }
}

const packFilesOf = async (directory: string): Promise<string[]> =>
  (await readdir(directory))
    .filter((name) => /^program(\.v\d+)?\.json$/.test(name))
    .sort()
    .map((name) => join(directory, name));

async function readPack<T extends z.ZodType>(
  file: string,
  schema: T,
  faults: string[],
): Promise<z.output<T> | undefined> {
  const name = file.split('/').slice(-3).join('/');
  let content: unknown;
  try {
    content = JSON.parse(await readFile(file, 'utf8'));
  } catch (error) {
    faults.push(`${name}: is not JSON (${error instanceof Error ? error.message : 'unreadable'})`);
    return undefined;
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  faults.push(...parsed.error.issues.map((issue) => `${name}: ${issue.path.join('.')}: ${issue.message}`));
  return undefined;
}

function sameVersions(packs: ProgramPack[]): string[] {
  const byVersion = Map.groupBy(packs, ({ code, version }) => `${code} version ${version}`);
  return [...byVersion].filter(([, of]) => of.length > 1).map(([name]) => `${name} is there more than once`);
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
