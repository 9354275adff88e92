import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { readPack } from '../src/programs/pack-file.ts';
import { ProgramChanged, publishPrograms } from '../src/programs/publish-programs.ts';
import { samplePack } from './support/sample-pack.ts';
import { startService, type Service } from './support/start-service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ decide: false });
});
afterAll(() => service.stop());

const publish = (changes: Parameters<typeof samplePack>[0]) =>
  publishPrograms(service.prisma, [readPack('program', samplePack({ code: 'PUBLISHED', ...changes }))]);

test('a version is published once, however often the service starts', async () => {
  await Promise.all([publish({}), publish({}), publish({})]);
  expect(await service.prisma.programPack.count({ where: { code: 'PUBLISHED' } })).toBe(1);
});

test('a published version that was changed is refused by name; a new version is taken', async () => {
  await publish({});
  const changed = publish({ authority: 'another source' });
  await expect(changed).rejects.toThrow(ProgramChanged);
  await expect(changed).rejects.toThrow('PUBLISHED version 1');
  await expect(publish({ version: 2, authority: 'another source' })).resolves.toBeUndefined();
});

test('spaces and the order of fields do not make another version', async () => {
  await publish({});
  const reordered = Object.fromEntries(Object.entries(samplePack({ code: 'PUBLISHED' })).toReversed());
  await expect(publishPrograms(service.prisma, [readPack('program', reordered)])).resolves.toBeUndefined();
});
