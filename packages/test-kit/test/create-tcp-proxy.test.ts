import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createReceiver, createTcpProxy, type Receiver, type TcpProxy } from '../src/index.ts';

let receiver: Receiver;
let proxy: TcpProxy;
const ask = (path: string) => fetch(`http://${proxy.address}${path}`, { signal: AbortSignal.timeout(5_000) });

beforeEach(async () => {
  receiver = await createReceiver();
  proxy = await createTcpProxy({ to: new URL(receiver.url).host });
});
afterEach(async () => {
  await proxy.close();
  await receiver.close();
});

test('what is open passes, what is cut is refused and lost, what is restored passes again', async () => {
  expect((await ask('/1')).status).toBe(204);
  receiver.respond(() => new Promise(() => undefined));
  const lost = ask('/2');
  await receiver.waitForCount(2);
  await proxy.cut();
  await expect(lost).rejects.toThrow();
  await expect(ask('/3')).rejects.toThrow();
  receiver.respond(() => ({}));
  await proxy.restore();
  expect((await ask('/4')).status).toBe(204);
  expect(receiver.received.map(({ path }) => path)).toEqual(['/1', '/2', '/4']);
});

test('what hangs is taken, goes nowhere, and goes on when it is restored', async () => {
  await ask('/1');
  proxy.hang();
  let answered = false;
  const waiting = ask('/2').then(({ status }) => {
    answered = true;
    return status;
  });
  // Time enough for an answer that should not come.
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect([answered, receiver.received.length]).toEqual([false, 1]);
  await proxy.restore();
  expect(await waiting).toBe(204);
});

test('one that begins away refuses until it is restored', async () => {
  await proxy.close();
  proxy = await createTcpProxy({ to: new URL(receiver.url).host, away: true });
  await expect(ask('/')).rejects.toThrow();
  await proxy.restore();
  expect((await ask('/')).status).toBe(204);
});
