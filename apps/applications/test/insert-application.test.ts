import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@assistance/service-kit';
import { createProgram } from '../src/programs/program.ts';
import { insertApplication } from '../src/submission/insert-application.ts';
import { samplePack } from './support/sample-pack.ts';
import { startService, type Service } from './support/start-service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ decide: false });
});
afterAll(() => service.stop());

const insert = (effectiveFrom: string, effectiveTo: string | null) => {
  const applicationId = newId('app');
  return insertApplication(service.prisma, {
    applicationId,
    owner: 'owner',
    idempotencyKey: applicationId,
    fingerprint: { keyId: 'i1', digest: Buffer.alloc(32) },
    program: createProgram(samplePack({ effectiveFrom, effectiveTo }), 'digest'),
    channel: 'web',
    applicantRef: 'ref',
    declarationId: null,
    sealed: null,
    openKey: null,
    requestId: 'request',
  });
};

const past = '2020-01-01T00:00:00.000Z';
const future = '2100-01-01T00:00:00.000Z';

test('the database has the last word on what is in force: whatever the caller thought, nothing is inserted', async () => {
  expect(await insert(past, null)).toBeInstanceOf(Date);
  expect(await insert(past, future)).toBeInstanceOf(Date);
  const before = await service.prisma.application.count();
  expect(await insert(past, past)).toBeUndefined();
  expect(await insert(future, null)).toBeUndefined();
  expect(await service.prisma.application.count()).toBe(before);
  expect(await service.prisma.audit.count()).toBe(before);
});
