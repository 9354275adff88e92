import { createHash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import got from 'got';
import { generateSecret, sign } from '@assistance/webhook-signature';
import type { Received } from '../src/inbox/inbox.ts';
import { startSandbox, type StartedSandbox } from './start-sandbox.ts';

interface Shown {
  name: string;
  callbackUrl: string;
  received: Received[];
}

let sandbox: StartedSandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
afterAll(() => sandbox.discard());

const http = got.extend({ throwHttpErrors: false, retry: { limit: 0 }, followRedirect: false });
const body = '{"id":"evt_1","type":"document.available","note":"José"}';

const put = (name: string, json: object = {}) => sandbox.control.put<Shown>(`inboxes/${name}`, { json });
const show = async (name: string) => (await sandbox.control.get<Shown>(`inboxes/${name}`)).body;
const received = async (name: string) => (await show(name)).received;

async function deliver(callbackUrl: string, secret?: string, ageSeconds = 0) {
  const timestampSeconds = Math.floor(Date.now() / 1000) - ageSeconds;
  const signature =
    secret === undefined
      ? {}
      : sign({ id: 'evt_1', body: Buffer.from(body), secrets: [secret], timestampSeconds });
  return http.post(callbackUrl, {
    headers: { 'content-type': 'application/cloudevents+json; charset=utf-8', ...signature },
    body,
  });
}

describe('an inbox', () => {
  test('has an address on the loopback interface, and shows what it received there, oldest first', async () => {
    const { statusCode, body: made } = await put('plain');
    expect(statusCode).toBe(200);
    expect(made).toEqual({
      name: 'plain',
      callbackUrl: `http://127.0.0.1:${sandbox.port}/inbox/plain`,
      status: 200,
      delayMs: 0,
      failFirst: 0,
      hasSecret: false,
    });
    const before = Date.now();
    expect((await deliver(made.callbackUrl)).statusCode).toBe(200);
    await http.post(made.callbackUrl, { body: 'not even json' });
    const [first, second, ...rest] = await received('plain');
    expect(rest).toEqual([]);
    expect(first).toMatchObject({ body, verified: null });
    expect(first?.headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(Date.parse(first?.receivedAt ?? '')).toBeGreaterThanOrEqual(before);
    expect(second?.body).toBe('not even json');
  });

  test('verifies what comes once it was given the secret, and also what came before', async () => {
    const [secret, other] = [generateSecret(), generateSecret()];
    const { callbackUrl } = (await put('verifying')).body;
    await deliver(callbackUrl, secret);
    await deliver(callbackUrl, other);
    expect((await received('verifying')).map(({ verified }) => verified)).toEqual([null, null]);
    const { body: given } = await put('verifying', { secret });
    expect(JSON.stringify(given)).not.toContain(secret);
    await deliver(callbackUrl, secret);
    await deliver(callbackUrl, other);
    await deliver(callbackUrl, secret, 301);
    await deliver(callbackUrl);
    expect((await received('verifying')).map(({ verified }) => verified)).toEqual([
      true,
      false,
      true,
      false,
      false,
      false,
    ]);
  });

  test('does not take a delivery for verified when one of its two signatures is wrong', async () => {
    const secret = generateSecret();
    const { callbackUrl } = (await put('both', { secret })).body;
    const signed = sign({
      id: 'evt_1',
      body: Buffer.from(body),
      secrets: [secret],
      timestampSeconds: Math.floor(Date.now() / 1000),
    });
    const { 'x-service-signature': service, ...standard } = signed;
    await http.post(callbackUrl, { body, headers: { 'x-service-signature': service } });
    await http.post(callbackUrl, { body, headers: standard });
    await http.post(callbackUrl, { body, headers: { ...signed, 'webhook-id': 'evt_2' } });
    expect((await received('both')).map(({ verified }) => verified)).toEqual([true, false, false]);
  });

  test('answers as asked: the status, after the delay, and 500 to the first so many', async () => {
    const { callbackUrl } = (await put('moody', { status: 429, delayMs: 150, failFirst: 2 })).body;
    const startedAt = performance.now();
    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await deliver(callbackUrl)).statusCode);
    expect(statuses).toEqual([500, 500, 429]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(450);
    await put('moody', { status: 302 });
    expect((await deliver(callbackUrl)).statusCode).toBe(302);
    expect(await received('moody')).toHaveLength(4);
  });

  test('shows the last 1 000', async () => {
    const { callbackUrl } = (await put('busy')).body;
    for (let start = 0; start < 2_300; start += 100) {
      await Promise.all(
        Array.from({ length: 100 }, async (_, n) => http.post(callbackUrl, { body: String(start + n) })),
      );
    }
    const kept = (await received('busy')).map((each) => Number(each.body));
    expect(kept).toHaveLength(1_000);
    expect(Math.min(...kept)).toBeGreaterThanOrEqual(1_300 - 100);
    expect(new Set(kept).size).toBe(1_000);
  });

  test('can be deleted, and made anew empty', async () => {
    const { callbackUrl } = (await put('gone')).body;
    await deliver(callbackUrl);
    expect((await sandbox.control.delete('inboxes/gone', { responseType: 'text' })).statusCode).toBe(204);
    expect((await sandbox.control.get('inboxes/gone')).statusCode).toBe(404);
    expect((await sandbox.control.delete('inboxes/gone')).statusCode).toBe(404);
    expect((await deliver(callbackUrl)).statusCode).toBe(404);
    await put('gone');
    expect(await received('gone')).toEqual([]);
  });
});

describe('killed and started again', () => {
  test('it has every request that it acknowledged, and goes on as it was set', async () => {
    const secret = generateSecret();
    const { callbackUrl } = (await put('durable', { secret, failFirst: 3, status: 202 })).body;
    await deliver(callbackUrl, secret);
    const acknowledged = new Set<string>();
    let killed = false;
    const senders = Array.from({ length: 8 }, async (_, sender) => {
      for (let n = 0; !killed; n++) {
        const mark = `${sender}-${n}`;
        const answered = await http.post(callbackUrl, { body: mark }).catch(() => undefined);
        if (answered !== undefined) acknowledged.add(mark);
        if (acknowledged.size === 200) {
          killed = true;
          await sandbox.kill();
        }
      }
    });
    await Promise.all(senders);
    await sandbox.restart();
    const kept = await received('durable');
    expect(acknowledged.size).toBeGreaterThanOrEqual(200);
    expect([...acknowledged].filter((mark) => !kept.some((each) => each.body === mark))).toEqual([]);
    expect(kept[0]).toMatchObject({ body, verified: true });
    expect((await deliver(callbackUrl, secret)).statusCode).toBe(202);
  });

  test('it counts the first failures on', async () => {
    const { callbackUrl } = (await put('counting', { failFirst: 2 })).body;
    expect((await deliver(callbackUrl)).statusCode).toBe(500);
    await sandbox.kill();
    await sandbox.restart();
    expect((await deliver(callbackUrl)).statusCode).toBe(500);
    expect((await deliver(callbackUrl)).statusCode).toBe(200);
  });
});

describe('refusals', () => {
  test.each([
    ['name', 'inboxes/..%2fclients', {}, 'validation_error'],
    ['name', 'inboxes/-x', {}, 'validation_error'],
    ['status', 'inboxes/wrong', { status: 42 }, 'validation_error'],
    ['secret', 'inboxes/wrong', { secret: 'hunter2' }, 'validation_error'],
    ['unknown field', 'inboxes/wrong', { colour: 'red' }, 'validation_error'],
  ])('an unusable %s is 400, and makes no inbox', async (_what, path, json, code) => {
    const { statusCode, body } = await sandbox.control.put<{ code: string }>(path, { json });
    expect(statusCode).toBe(400);
    expect(body).toMatchObject({ code, details: [expect.any(Object)] });
    expect(JSON.stringify(body)).not.toContain('hunter2');
    expect((await sandbox.control.get(path)).statusCode).toBe(404);
  });

  test('other methods, other inboxes and bodies beyond the limit get the error body', async () => {
    const { callbackUrl } = (await put('strict')).body;
    const method = await http.get(callbackUrl);
    expect([method.statusCode, method.headers.allow]).toEqual([405, 'POST']);
    expect(JSON.parse(method.body)).toMatchObject({ code: 'method_not_allowed' });
    const unknown = await http.post(`${sandbox.url}/inbox/unknown`, { body });
    expect(JSON.parse(unknown.body)).toMatchObject({ code: 'not_found' });
    expect(await sendChunked(callbackUrl, 300_000)).toBe(413);
    expect(await received('strict')).toEqual([]);
  });
});

/** Without a declared length, so that only reading it tells. */
function sendChunked(url: string, length: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
    request.on('response', ({ statusCode }) => resolve(statusCode)).on('error', reject);
    request.end(
      createHash('sha512')
        .update('x')
        .digest('hex')
        .repeat(Math.ceil(length / 128)),
    );
  });
}
