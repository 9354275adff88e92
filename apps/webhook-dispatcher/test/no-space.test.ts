import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import {
  createReceiver,
  refuseForSpace,
  startServiceProcess,
  waitUntil,
  type Receiver,
  type ServiceProcess,
} from '@assistance/test-kit';
import { createSurroundings, type Surroundings } from './start-dispatcher.ts';

let surroundings: Surroundings;
let receiver: Receiver;
let dispatcher: ServiceProcess;

beforeAll(async () => {
  [surroundings, receiver] = await Promise.all([createSurroundings(), createReceiver()]);
  dispatcher = await startServiceProcess({
    folder: join(import.meta.dirname, '..'),
    environment: surroundings.environment,
  });
  await dispatcher.untilReady(30_000);
  await surroundings.subscribe({ callbackUrl: receiver.url });
}, 60_000);

afterAll(async () => {
  await dispatcher?.end('SIGKILL');
  await receiver?.close();
  await surroundings?.close();
});

const complaints = () =>
  dispatcher
    .output()
    .split('\n')
    .filter((line) => line.includes('No space left on device')).length;
const timesReceived = (id: string | undefined) =>
  receiver.received.filter(({ headers }) => headers['webhook-id'] === id).length;

test('no space for events: none is lost, none a dead letter; they come when there is space', async () => {
  const said = complaints();
  const space = await refuseForSpace(surroundings.database.url, 'event');
  const ids = await surroundings.publishEvents(5);
  await waitUntil(() => complaints() > said, { timeoutMs: 10_000 });
  expect(await surroundings.prisma.event.count()).toBe(0);
  await space.lift();
  await receiver.waitForCount(5, 20_000);
  await waitUntil(async () => (await surroundings.prisma.delivery.count()) === 5);
  expect(ids.map(timesReceived)).toEqual([1, 1, 1, 1, 1]);
  expect(await surroundings.prisma.event.count()).toBe(5);
}, 60_000);

test('no space for outcomes: they are recorded when there is space, and nothing is sent twice', async () => {
  const before = await surroundings.prisma.delivery.count();
  const said = complaints();
  const space = await refuseForSpace(surroundings.database.url, 'delivery');
  const [id] = await surroundings.publishEvents(1);
  await receiver.waitFor(({ headers }) => headers['webhook-id'] === id);
  await waitUntil(() => complaints() > said, { timeoutMs: 10_000 });
  expect(await surroundings.prisma.delivery.count()).toBe(before);
  await space.lift();
  await waitUntil(async () => (await surroundings.prisma.delivery.count()) === before + 1, {
    timeoutMs: 20_000,
  });
  expect(timesReceived(id)).toBe(1);
}, 60_000);

test('while outcomes cannot be recorded nothing more is begun, so that little would be sent twice if the lease ended', async () => {
  const before = await surroundings.prisma.event.count();
  const said = complaints();
  const space = await refuseForSpace(surroundings.database.url, 'delivery');
  const [first] = await surroundings.publishEvents(1);
  await waitUntil(() => complaints() > said, { timeoutMs: 10_000 });
  const ids = await surroundings.publishEvents(20);
  await waitUntil(async () => (await surroundings.prisma.event.count()) === before + 21);
  await waitUntil(() => complaints() > said + 4, { timeoutMs: 10_000 });
  expect(ids.map(timesReceived)).toEqual(ids.map(() => 0));
  await space.lift();
  await waitUntil(() => ids.every((id) => timesReceived(id) > 0), { timeoutMs: 10_000 });
  expect([first, ...ids].map(timesReceived)).toEqual([first, ...ids].map(() => 1));
}, 60_000);
