import type { ProgramPack } from '../../src/programs/program-pack.ts';

export const samplePack = (changes: Partial<ProgramPack> = {}): ProgramPack => ({
  code: 'SAMPLE',
  version: 1,
  effectiveFrom: '2020-01-01T00:00:00.000Z',
  effectiveTo: null,
  authority: 'a source',
  links: [],
  answersSchema: { type: 'object', properties: { a: {}, size: {}, income: {}, missing: {} } },
  decidedBy: 'rules',
  decideAfterSeconds: 0,
  lookups: {},
  rules: [],
  withdrawal: { permittedFrom: ['submitted', 'validating', 'eligible'] },
  duplicatePolicy: 'allowed',
  messages: {
    en: { name: 'Sample', description: 'Sample' },
    es: { name: 'Muestra', description: 'Muestra' },
  },
  ...changes,
});
