import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { HTTP, type CloudEvent } from 'cloudevents';
import got, { type Got } from 'got';
import { Webhook as StandardWebhook } from 'standardwebhooks';
import Stripe from 'stripe';
import { Webhook as SvixWebhook } from 'svix';
import { waitUntil } from '@assistance/test-kit';
import { platformTopics, readTopics } from '../src/kafka/read-topics.ts';
import { freePort } from '../src/machine/free-port.ts';
import { getToken, runMainJob, type Delivery } from '../src/platform/main-job.ts';
import { paths } from '../src/machine/paths.ts';
import type { Platform } from '../src/platform/platform-file.ts';
import { readmeCommands } from '../src/test-run/readme-commands.ts';
import { startTimeOf } from '../src/processes/start-time-of.ts';
import { findPlanted, type Written } from './support/find-planted.ts';
import { plant, secretsOf } from './support/plant.ts';
import { operationCases, type OperationCase } from './support/operation-cases.ts';
import { processesOf } from '../src/processes/processes-of.ts';
import { npmStart, untilUp, type Started } from './support/npm-start.ts';

let localDir: string;
let port: number;
let started: Started;
let platform: Platform;
let bearer: string;
let partner: Got;
let firstRun: { code: number | null; output: string };

beforeAll(async () => {
  localDir = mkdtempSync(join(tmpdir(), 'platform-test-'));
  chmodSync(localDir, 0o755); // Postgres runs as another user than root
  port = await freePort();
  const once = npmStart(localDir, port, '--once');
  firstRun = { code: await once.exited, output: once.output() };
  started = npmStart(localDir, port);
  platform = await untilUp(started);
  const client = platform.clients.find(({ clientId }) => clientId === 'partner')!;
  bearer = await getToken(platform, client.clientId, client.clientSecret!);
  partner = got.extend({
    headers: { authorization: `Bearer ${bearer}` },
    throwHttpErrors: false,
    retry: { limit: 0 },
  });
});

afterAll(async () => {
  if (started?.child.exitCode === null && started.child.signalCode === null) await started.pressCtrlC();
  await waitUntil(() => processesOf(localDir).length === 0, { timeoutMs: 20_000 });
  rmSync(localDir, { recursive: true, force: true });
});

const headersOf = ({ headers }: Delivery) => headers as Record<string, string>;

/** The body with one bit of its last value changed: still JSON, but not what was signed. */
function changed(body: string): string {
  const bytes = Buffer.from(body);
  const at = body.lastIndexOf('"') - 1;
  bytes[at]! ^= 1;
  return bytes.toString();
}

test('--once starts on an empty folder, shows the main job as a story, and ends with 0', () => {
  expect(firstRun.output).toMatch(
    /signed in.*subscribed.*submitted.*decided +eligible.*handed over.*decided +awarded.*verified.*It works/s,
  );
  expect(firstRun.output).toMatch(/delivered +application.decided awarded/);
  expect(firstRun.code).toBe(0);
});

test('the next start finds the data of the first again', async () => {
  const list = await partner(`${platform.applications}/applications?programCode=HEATING-AID`).json<{
    data: unknown[];
  }>();
  expect(list.data.length).toBe(2);
});

test('platform.json names every process, by its own pid', () => {
  expect(Object.keys(platform.processes).sort()).toEqual(
    [...['applications', 'subscriptions', 'webhook-dispatcher', 'sandbox'], ...['kafka', 'postgres']].sort(),
  );
  expect(Object.values(platform.processes).map((pid) => startTimeOf(pid) !== undefined)).not.toContain(false);
  const postmaster = readFileSync(join(localDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0];
  expect(platform.processes['postgres']).toBe(Number(postmaster));
});

test("deliveries verify with other people's libraries, each exactly once, and no longer with one byte changed", async () => {
  const { deliveries, signingSecret } = await runMainJob(platform, () => {});
  expect(deliveries.map(({ event }) => event.id)).toEqual([
    ...new Set(deliveries.map(({ event }) => event.id)),
  ]);
  const stripe = new Stripe('sk_test_unused');
  const standard = new StandardWebhook(signingSecret);
  const svix = new SvixWebhook(signingSecret);
  for (const delivery of deliveries) {
    const headers = headersOf(delivery);
    const verifiers = {
      stripe: (body: string) =>
        stripe.webhooks.constructEvent(body, headers['x-service-signature']!, signingSecret),
      standardwebhooks: (body: string) => standard.verify(body, headers),
      svix: (body: string) => svix.verify(body, headers),
    };
    for (const verify of Object.values(verifiers)) {
      expect(() => verify(delivery.body)).not.toThrow();
      expect(() => verify(changed(delivery.body))).toThrow();
    }
    const event = HTTP.toEvent({ headers, body: delivery.body }) as CloudEvent<unknown>;
    expect(event.validate()).toBe(true);
    expect(event).toMatchObject({ id: delivery.event.id, type: delivery.event.type, specversion: '1.0' });
  }
});

test('50 identical submissions at once make one application and give 50 equal answers', async () => {
  const json = {
    programCode: 'FIFTY-AT-ONCE',
    channel: 'web',
    applicantRef: 'applicant-50',
    answers: { size: 3 },
  };
  const headers = { 'idempotency-key': crypto.randomUUID() };
  const answers = await Promise.all(
    Array.from({ length: 50 }, () =>
      partner.post(`${platform.applications}/applications`, { headers, json }),
    ),
  );
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([201]));
  expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
  const list = partner(`${platform.applications}/applications?programCode=FIFTY-AT-ONCE`);
  expect((await list.json<{ data: unknown[] }>()).data).toHaveLength(1);
});

test.each(['through the gateway', 'directly'])(
  "all ten operations answer as the specification's tables say, %s",
  async (way) => {
    const base = {
      applications:
        way === 'directly' ? `${platform.services['applications']}/applications/v1` : platform.applications,
      events: way === 'directly' ? `${platform.services['subscriptions']}/events/v1` : platform.events,
    };
    const tokens = new Map<string, string>();
    for (const { clientId, clientSecret } of platform.clients) {
      if (clientSecret !== undefined) tokens.set(clientId, await getToken(platform, clientId, clientSecret));
    }
    const send = ({ interface: of, method, path, client, headers, json }: OperationCase) =>
      got(base[of] + path, {
        method,
        headers: {
          ...(client === 'none'
            ? {}
            : { authorization: `Bearer ${tokens.get(client) ?? 'nobody.issued.this'}` }),
          ...headers,
        },
        ...(json === undefined ? {} : { json }),
        throwHttpErrors: false,
        retry: { limit: 0 },
      });
    const make = async (programCode: string, usedKey = crypto.randomUUID() as string): Promise<string> => {
      const answer = await partner.post(`${base.applications}/applications`, {
        headers: { 'idempotency-key': usedKey },
        json: { programCode, channel: 'web', applicantRef: 'ref-1' },
      });
      return (JSON.parse(answer.body) as { applicationId: string }).applicationId;
    };
    const callbackUrl = 'http://127.0.0.1:9/nobody';
    const subscribed = await partner.post(`${base.events}/subscriptions`, {
      json: { eventTypes: ['request.released'], callbackUrl },
    });
    const usedKey = crypto.randomUUID();
    const cases = operationCases({
      applicationId: await make('TEST-PENDING', usedKey),
      keptApplicationId: await make('TEST-NO-WITHDRAWAL'),
      usedKey,
      subscriptionId: (JSON.parse(subscribed.body) as { subscriptionId: string }).subscriptionId,
      callbackUrl,
    });
    const answers = [];
    for (const each of cases) {
      const { statusCode, body, headers } = await send(each);
      const { code } = (statusCode >= 400 ? JSON.parse(body) : {}) as { code?: string };
      answers.push({ name: each.name, status: statusCode, code });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(answers).toEqual(cases.map(({ name, status, code }) => ({ name, status, code })));
  },
);

test('a delegated token is taken only with the evidence of a smart card', async () => {
  const askAs = async (claims: Record<string, unknown>) => {
    const { token } = await partner
      .post(`${platform.sandbox}/tokens`, { json: { claims } })
      .json<{ token: string }>();
    return got(`${platform.applications}/applications`, {
      headers: { authorization: `Bearer ${token}` },
      throwHttpErrors: false,
    });
  };
  expect((await askAs({})).statusCode).toBe(200);
  expect((await askAs({ sub: 'user-1', amr: ['sc'] })).statusCode).toBe(200);
  const refused = await askAs({ sub: 'user-1' });
  expect(refused.statusCode).toBe(401);
  expect(refused.headers['www-authenticate']).toContain('error="insufficient_user_authentication"');
});

test("the README's commands work as pasted", async () => {
  const commands = readmeCommands(readFileSync(join(paths.root, 'README.md'), 'utf8'), 'Try it')
    .replaceAll('http://localhost:8080', platform.gateway)
    .replaceAll('.local/', `${localDir}/`);
  const strict = 'set -euo pipefail\ncurl() { command curl --fail-with-body "$@"; }\n';
  const shell = spawn('bash', ['-c', strict + commands], { cwd: paths.root });
  let output = '';
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const [code] = await once(shell, 'exit');
  expect(`${output}exit code ${code}`).toMatch(/exit code 0$/);
  expect(output).toMatch(/application\.decided verified: true/);
  expect(output).not.toMatch(/verified: (false|null)/);
});

test('a killed service comes back within seconds, on the same address', async () => {
  const pid = platform.processes['applications']!;
  process.kill(pid, 'SIGKILL');
  await waitUntil(() => (started.platform().processes['applications'] ?? pid) !== pid);
  await waitUntil(async () => (await partner(`${platform.applications}/applications`)).statusCode === 200, {
    timeoutMs: 10_000,
  });
  expect(started.platform().services).toEqual(platform.services);
});

test('what is private is in no log line, record, metric or refusal of all that ran here', async () => {
  const { values, refusals } = await plant(platform, partner, bearer);
  const records: Written[] = [];
  const prefix = process.env['KAFKA_TOPIC_PREFIX'] ?? '';
  const topics = await platformTopics(platform.kafka, prefix);
  await readTopics(platform.kafka, topics, ({ key, value, headers }, topic) => {
    const texts = Object.entries(headers ?? {}).map(([name, text]) => `${name}: ${String(text)}`);
    records.push({ where: topic.slice(prefix.length), text: [key, value, ...texts].map(String).join('\n') });
  });
  const logs = readdirSync(join(localDir, 'logs')).map((file) => ({
    where: file,
    text: readFileSync(join(localDir, 'logs', file), 'utf8'),
  }));
  const metrics = Object.entries(platform.ops).map(async ([name, url]) => ({
    where: `metrics of ${name}`,
    text: await got(`${url}/metrics`).text(),
  }));
  const written = [
    ...logs,
    ...records,
    ...(await Promise.all(metrics)),
    ...refusals.map((text, n) => ({ where: `refusal ${n + 1}`, text })),
    { where: 'the terminal', text: firstRun.output + started.output() },
  ];
  expect(findPlanted({ ...values, ...secretsOf(platform, localDir) }, written)).toEqual([
    // Where each belongs: case management learns whose case it is, the dispatcher where to send.
    'declaration in assistance.case-management.intake.v1',
    'reference in assistance.case-management.intake.v1',
    'secret of a callback in assistance.subscriptions.subscription.v1',
  ]);
});

test('a second start in the same folder is refused and does no harm', async () => {
  const second = npmStart(localDir, port);
  expect(await second.exited).toBe(1);
  expect(second.output()).toContain(`The platform runs already, at ${platform.gateway}`);
  expect((await partner(`${platform.applications}/applications`)).statusCode).toBe(200);
});

test('Ctrl-C leaves no process and no platform.json', async () => {
  await started.pressCtrlC();
  await waitUntil(() => processesOf(localDir).length === 0, { timeoutMs: 15_000 });
  expect(existsSync(join(localDir, 'platform.json'))).toBe(false);
});
