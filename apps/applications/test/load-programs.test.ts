import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { BadPrograms, loadPrograms } from '../src/programs/load-programs.ts';
import { programsFolder } from './support/start-service.ts';
import { samplePack } from './support/sample-pack.ts';

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

function folderWith(files: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), 'programs-'));
  folders.push(folder);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return folder;
}

async function faultsOf(pack: unknown, code = 'SAMPLE'): Promise<string> {
  const loading = loadPrograms(folderWith({ [`set/${code}/program.json`]: pack }), ['set']);
  const error = await loading.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof BadPrograms)) throw new Error('it was taken');
  return error.message;
}

const rule = {
  code: 'a_rule',
  citation: 'a source',
  conditions: { all: [{ fact: 'a', operator: 'equal', value: true }] },
  message: { en: 'en', es: 'es' },
};

test('the packs of this repository are sound', async () => {
  const catalogue = await loadPrograms(programsFolder, ['agency', 'sandbox']);
  expect(catalogue.listed(new Date()).map(({ pack }) => pack.code)).toEqual([
    'ERA-RENT',
    'LIHEAP',
    'SNAP',
    'TEST-DENIED',
    'TEST-INELIGIBLE',
    'TEST-NO-WITHDRAWAL',
    'TEST-ONE-OPEN',
    'TEST-PENDING',
    'TEST-SCHEMA',
    'TEST-SLOW',
    'TEST-UNDETERMINED',
    'VITAL-RECORDS',
  ]);
});

test('an agency has no test programs, and no program for any other code', async () => {
  const catalogue = await loadPrograms(programsFolder, ['agency']);
  expect(catalogue.listed(new Date()).map(({ pack }) => pack.code)).toEqual([
    'ERA-RENT',
    'LIHEAP',
    'SNAP',
    'VITAL-RECORDS',
  ]);
  expect(catalogue.find('TEST-PENDING', new Date())).toBeUndefined();
});

describe('a bad pack is refused with a reason that says where it is', () => {
  const changed = (changes: object): unknown => ({ ...samplePack(), ...changes });
  test.each<[string, unknown, string]>([
    ['no JSON', '{"code":', 'set/SAMPLE/program.json: is not JSON'],
    ['nothing in it', {}, 'set/SAMPLE/program.json: code'],
    ['a field that is none', changed({ colour: 'red' }), 'colour'],
    ['a code that is not its folder', changed({ code: 'OTHER' }), 'code must be the name of its folder'],
    ['a version that is none', changed({ version: 0 }), 'version'],
    ['a day without a time', changed({ effectiveFrom: '2026-01-01' }), 'effectiveFrom'],
    [
      'an end before its beginning',
      changed({ effectiveTo: '2019-01-01T00:00:00.000Z' }),
      'effectiveTo must be after',
    ],
    ['no Spanish', changed({ messages: { en: samplePack().messages.en } }), 'messages.es'],
    [
      'a schema that is none',
      changed({ answersSchema: { type: 'object', properties: { a: { type: 'integre' } } } }),
      'answersSchema: ',
    ],
    ['a schema of a list', changed({ answersSchema: { type: 'array' } }), 'answersSchema'],
    [
      'a fact that nobody can give',
      changed({ rules: [{ ...rule, conditions: { all: [{ ...rule.conditions.all[0], fact: 'incme' }] } }] }),
      'rules.a_rule: there is no fact incme',
    ],
    [
      'an operator that is none',
      changed({ rules: [{ ...rule, conditions: { all: [{ fact: 'a', operator: 'lessThen', value: 1 }] } }] }),
      'rules.0.conditions.all.0.operator: Invalid option: expected one of "equal"|',
    ],
    [
      'a path in a condition',
      changed({ rules: [{ ...rule, conditions: { all: [{ ...rule.conditions.all[0], path: '$.x' }] } }] }),
      'rules.0.conditions.all.0: Unrecognized key: "path"',
    ],
    ['the same rule twice', changed({ rules: [rule, rule] }), 'rules.a_rule is there more than once'],
    ['rules where a person decides', changed({ decidedBy: 'person', rules: [rule] }), 'a person decides'],
    [
      'a look-up by nothing',
      changed({ lookups: { limit: { by: 'sise', table: { '1': 1 } } } }),
      'lookups.limit: sise',
    ],
    [
      'a look-up that an answer could be',
      changed({ lookups: { a: { by: 'size', table: { '1': 1 } } } }),
      'lookups.a',
    ],
    ['withdrawal from an end', changed({ withdrawal: { permittedFrom: ['awarded'] } }), 'withdrawal'],
  ])('%s', async (_what, pack, reason) => {
    expect(await faultsOf(pack)).toContain(reason);
  });

  test('all faults of all packs at once', async () => {
    const folder = folderWith({
      'set/A/program.json': samplePack({ code: 'B' }),
      'set/C/program.json': { ...samplePack({ code: 'C' }), version: 0 },
    });
    const loading = loadPrograms(folder, ['set', 'missing']);
    await expect(loading).rejects.toThrow(/no such folder[^]*set\/A\/program.json[^]*set\/C\/program.json/);
  });

  test('a version that is there twice', async () => {
    const folder = folderWith({
      'set/SAMPLE/program.json': samplePack(),
      'set/SAMPLE/program.v2.json': samplePack(),
    });
    await expect(loadPrograms(folder, ['set'])).rejects.toThrow('SAMPLE version 1 is there more than once');
  });
});

describe('of several versions', () => {
  const folder = folderWith({
    'set/SAMPLE/program.v1.json': samplePack({ effectiveTo: '2026-01-01T00:00:00.000Z' }),
    'set/SAMPLE/program.json': samplePack({ version: 2, effectiveFrom: '2026-01-01T00:00:00.000Z' }),
    'set/SAMPLE/program.v3.json': samplePack({
      version: 3,
      effectiveFrom: '2027-01-01T00:00:00.000Z',
      effectiveTo: '2028-01-01T00:00:00.000Z',
    }),
  });

  test.each([
    ['2019-12-31T23:59:59.999Z', undefined, 1],
    ['2020-01-01T00:00:00.000Z', 1, 1],
    ['2025-12-31T23:59:59.999Z', 1, 1],
    ['2026-01-01T00:00:00.000Z', 2, 2],
    ['2027-06-01T00:00:00.000Z', 3, 3],
    ['2028-01-01T00:00:00.000Z', 2, 2],
  ])('at %s version %s is in force, and %s is shown', async (at, inForce, shown) => {
    const catalogue = await loadPrograms(folder, ['set']);
    expect(catalogue.inForce('SAMPLE', new Date(at))?.pack.version).toBe(inForce);
    expect(catalogue.find('SAMPLE', new Date(at))?.pack.version).toBe(shown);
  });
});
