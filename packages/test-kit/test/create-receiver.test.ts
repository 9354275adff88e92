import { expect, test } from '@jest/globals';
import { createReceiver } from '../src/index.ts';

test('it keeps what came and answers as told', async () => {
  const receiver = await createReceiver();
  receiver.respond((request, number) =>
    number === 1 ? { status: 500 } : { status: 200, body: request.path },
  );
  const send = (path: string, body: string) => fetch(receiver.url + path, { method: 'POST', body });
  const waiting = receiver.waitFor((request) => request.body === 'zwei é');

  expect((await send('/a', 'one')).status).toBe(500);
  expect(await (await send('/b', 'zwei é')).text()).toBe('/b');
  expect(await waiting).toMatchObject({ method: 'POST', path: '/b' });
  expect(await receiver.waitForCount(2)).toHaveLength(2);
  await receiver.close();
  await expect(send('/c', '')).rejects.toThrow();
});

test('waiting for what does not come ends with the number of what came', async () => {
  const receiver = await createReceiver();
  await expect(receiver.waitForCount(1, 50)).rejects.toThrow('Waited 50 ms for 1 requests; 0 came');
  await receiver.close();
});

test('an answer that never comes does not keep it from closing', async () => {
  const receiver = await createReceiver();
  receiver.respond(() => new Promise(() => {}));
  const sent = fetch(receiver.url).catch(() => 'broken off');
  await receiver.waitForCount(1);
  await receiver.close();
  expect(await sent).toBe('broken off');
});
