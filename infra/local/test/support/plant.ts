import { randomBytes, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Got } from 'got';
import { createReceiver, waitUntil } from '@assistance/test-kit';
import { localFiles } from '../../src/platform/local-dir.ts';
import type { Platform } from '../../src/platform/platform-file.ts';

export interface Planted {
  /** What must not be found where it does not belong, by what it is. */
  values: Record<string, string>;
  /** What the refused requests were answered, headers and body. */
  refusals: string[];
}

/** Sends what is private wherever a caller can send something, and waits until all of it has had its effect. */
export async function plant(platform: Platform, partner: Got, token: string): Promise<Planted> {
  const mark = (kind: string): string => `${kind}-${randomBytes(6).toString('hex')}`;
  const digits = (count: number): string => String(randomInt(10 ** (count - 1), 10 ** count));
  const values = {
    answer: mark('Quorthon'),
    'nested answer': mark('Zyxwina'),
    'refused answer': mark('seventeen'),
    'social security number': `5${digits(2)}-${randomInt(10, 99)}-${digits(4)}`,
    'e-mail address': `${mark('zyx')}@private.example`,
    'phone number': `+1 555 ${digits(3)} ${digits(4)}`,
    reference: mark('ref'),
    declaration: mark('declared'),
    'idempotency key': mark('key'),
    'broken body': mark('broken'),
    'name in a path': mark('path'),
    'name in a query': mark('query'),
    'request id': mark('request'),
    'garbled token': `${mark('garbled')}.${mark('garbled')}.${mark('garbled')}`,
    'secret of a callback': mark('callback'),
    'answer of a receiver': mark('receiver'),
    token,
    'signature of a token': token.split('.')[2]!,
  };
  const refusals: string[] = [];
  const { applications, events, deliveries } = platform;
  const submission = { programCode: 'PRIVATE-AFFAIR', channel: 'web', applicantRef: values.reference };

  const refused = async (status: number, url: string, options: object = {}): Promise<void> => {
    const answer = await partner(url, { method: 'GET', ...options });
    if (answer.statusCode !== status) throw new Error(`${url} answered ${answer.statusCode}: ${answer.body}`);
    refusals.push(JSON.stringify(answer.headers) + answer.body);
  };
  const submit = (json: object, key = mark('other-key')) => ({
    method: 'POST',
    headers: { 'idempotency-key': key },
    json,
  });
  const answers = { surname: values.answer, household: [{ forename: values['nested answer'] }] };
  const kept = { ...submission, declarationId: values.declaration, answers };
  const made = await partner(
    `${applications}/applications`,
    submit(kept, values['idempotency key']) as object,
  );
  if (made.statusCode !== 201) throw new Error(`A submission answered ${made.statusCode}: ${made.body}`);
  const other = { ...kept, channel: 'mobile' };
  await refused(409, `${applications}/applications`, submit(other, values['idempotency key']));
  for (const identifier of ['social security number', 'e-mail address', 'phone number'] as const) {
    for (const field of ['applicantRef', 'declarationId'])
      await refused(
        400,
        `${applications}/applications`,
        submit({ ...submission, [field]: values[identifier] }),
      );
  }
  const wrong = {
    householdSize: values['refused answer'],
    monthlyIncomeCents: values['social security number'],
  };
  const ill = { ...submission, programCode: 'TEST-SCHEMA', answers: wrong };
  await refused(400, `${applications}/applications`, submit(ill));
  await refused(400, `${applications}/applications`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'idempotency-key': mark('key') },
    body: `{"applicantRef": "${values['broken body']}"`,
  });
  await refused(404, `${applications}/applications/${values['name in a path']}`, {
    headers: { 'x-request-id': values['request id'] },
  });
  await refused(404, `${applications}/${values['name in a path']}/${values['e-mail address']}`);
  for (const name of ['applicantName', 'programCode', 'cursor'])
    await refused(400, `${applications}/applications`, {
      searchParams: { [name]: `${values['name in a query']} ${values['e-mail address']}` },
    });
  for (const base of [`${applications}/applications`, `${events}/subscriptions`, `${deliveries}/deliveries`])
    await refused(401, base, { headers: { authorization: `Bearer ${values['garbled token']}` } });
  await refused(400, `${events}/subscriptions`, {
    method: 'POST',
    json: {
      eventTypes: ['application.decided'],
      callbackUrl: `https://${values['secret of a callback']}@a.b/`,
    },
  });

  const receiver = await createReceiver();
  try {
    receiver.respond(() => ({ status: 500, body: values['answer of a receiver'] }));
    const callbackUrl = `${receiver.url}/${values['secret of a callback']}`;
    const subscribed = await partner
      .post(`${events}/subscriptions`, { json: { eventTypes: ['document.available'], callbackUrl } })
      .json<{ signingSecret: string; subscriptionId: string }>();
    await partner.post(`${platform.sandbox}/events`, { json: { type: 'document.available' } });
    await receiver.waitForCount(1, 30_000);
    const log = `${deliveries}/deliveries?subscriptionId=${subscribed.subscriptionId}`;
    await waitUntil(async () => (await partner(log)).body.includes('http_status'), { timeoutMs: 30_000 });
    await partner.delete(`${events}/subscriptions/${subscribed.subscriptionId}`);
    const own = `${applications}/applications/${(JSON.parse(made.body) as { applicationId: string }).applicationId}`;
    await waitUntil(async () => (await partner(own)).body.includes('"awarded"'), { timeoutMs: 30_000 });
    return { values: { ...values, 'signing secret': subscribed.signingSecret }, refusals };
  } finally {
    await receiver.close();
  }
}

/** Every key and password of the platform, and the secret of every client. */
export function secretsOf({ clients }: Platform, localDir: string): Record<string, string> {
  const own: Record<string, string> = {};
  JSON.parse(readFileSync(localFiles(localDir).secrets, 'utf8'), (name: string, value: unknown) => {
    if (typeof value === 'string' && value.length >= 16)
      own[`secret ${Object.keys(own).length} (${name})`] = value;
    return value;
  });
  for (const { clientId, clientSecret } of clients)
    if (clientSecret !== undefined) own[`secret of ${clientId}`] = clientSecret;
  return own;
}
