import { setTimeout as sleep } from 'node:timers/promises';
import got, { type Got } from 'got';
import { z } from 'zod';
import { verify } from '@assistance/webhook-signature';
import type { Platform } from './platform-file.ts';

const stepTimeoutMs = 30_000;
const lookEveryMs = 50;
/** Found eligible, case opened, case awarded, awarded. */
const eventsOfAnAward = 4;

const token = z.object({ access_token: z.string() });
const application = z.object({
  applicationId: z.string(),
  status: z.string(),
  caseId: z.string().nullable(),
});
const eventTypeList = z.array(z.object({ type: z.string() }));
const subscription = z.object({ subscriptionId: z.string(), signingSecret: z.string() });
const inbox = z.object({ callbackUrl: z.string() });
const received = z.object({
  receivedAt: z.string(),
  headers: z.record(z.string(), z.union([z.string(), z.array(z.string())])),
  body: z.string(),
  verified: z.boolean().nullable(),
});
const inboxContent = z.object({ received: z.array(received) });
const event = z.object({ id: z.string(), type: z.string(), data: z.record(z.string(), z.unknown()) });
export type Delivery = z.infer<typeof received> & { event: z.infer<typeof event> };

/** Gets each step of the story in words. */
type Tell = (what: string, how: string) => void;

export interface MainJobResult {
  applicationId: string;
  caseId: string;
  signingSecret: string;
  /** The deliveries about this application, in the order in which they came. */
  deliveries: Delivery[];
}

/**
 * Does what a partner's system does, over HTTP through the gateway and with nothing but what platform.json says:
 * subscribes, submits an application, watches it being decided, and checks the signed events that arrive.
 * Rejects when a step does not come about within 30 s.
 */
export async function runMainJob(platform: Platform, tell: Tell): Promise<MainJobResult> {
  const partner = platform.clients.find(({ clientId }) => clientId === 'partner');
  if (partner?.clientSecret === undefined) throw new Error('The sandbox has no client "partner"');
  const bearer = await getToken(platform, partner.clientId, partner.clientSecret);
  const http = got.extend({
    headers: { authorization: `Bearer ${bearer}` },
    responseType: 'json',
    retry: { limit: 0 },
    timeout: { request: stepTimeoutMs },
  });
  tell('signed in', `as the client "partner", at ${platform.token}`);

  const inboxUrl = `${platform.sandbox}/inboxes/main-job-${Date.now()}`;
  const { callbackUrl } = inbox.parse(await http.put(inboxUrl, { json: {} }).json());
  const types = eventTypeList
    .parse(await http.get(`${platform.events}/event-types`).json())
    .map(({ type }) => type);
  const { subscriptionId, signingSecret } = subscription.parse(
    await http.post(`${platform.events}/subscriptions`, { json: { eventTypes: types, callbackUrl } }).json(),
  );
  try {
    await http.put(inboxUrl, { json: { secret: signingSecret } });
    tell('subscribed', `${subscriptionId} to ${types.length} event types`);
    const applicationId = await submit(http, platform, tell);
    const [caseId, deliveries] = await Promise.all([
      watchApplication(http, `${platform.applications}/applications/${applicationId}`, tell),
      watchInbox(http, inboxUrl, applicationId, tell),
    ]);
    checkSignatures(deliveries, signingSecret);
    tell('verified', `all ${deliveries.length} signatures; with one byte changed none holds`);
    return { applicationId, caseId, signingSecret, deliveries };
  } finally {
    await http.delete(`${platform.events}/subscriptions/${subscriptionId}`);
    await http.delete(inboxUrl);
  }
}

export async function getToken(platform: Platform, clientId: string, clientSecret: string): Promise<string> {
  const answer = await got
    .post(platform.token, {
      username: clientId,
      password: clientSecret,
      form: { grant_type: 'client_credentials' },
      timeout: { request: stepTimeoutMs },
    })
    .json();
  return token.parse(answer).access_token;
}

async function submit(http: Got, platform: Platform, tell: Tell): Promise<string> {
  const { applicationId } = application.parse(
    await http
      .post(`${platform.applications}/applications`, {
        headers: { 'idempotency-key': crypto.randomUUID() },
        json: { programCode: 'HEATING-AID', channel: 'web', applicantRef: 'applicant-1001', answers: {} },
      })
      .json(),
  );
  tell('submitted', `${applicationId} for the program HEATING-AID`);
  return applicationId;
}

/** From submitted to awarded; answers the case that was opened on the way. */
async function watchApplication(http: Got, url: string, tell: Tell): Promise<string> {
  const current = async () => application.parse(await http.get(url).json());
  await until('the application to be found eligible', async () =>
    ['eligible', 'awarded'].includes((await current()).status),
  );
  tell('decided', 'eligible by the rules of the program');
  const caseId = await until('case management to open a case', async () => (await current()).caseId);
  tell('handed over', `to case management, which opened ${caseId}`);
  await until('case management to award it', async () => (await current()).status === 'awarded');
  tell('decided', 'awarded by case management');
  return caseId;
}

/** Tells each event of the application as it arrives, until it has been awarded and all four are there. */
async function watchInbox(
  http: Got,
  inboxUrl: string,
  applicationId: string,
  tell: Tell,
): Promise<Delivery[]> {
  const told = new Set<string>();
  return until('the four signed events', async () => {
    const { received } = inboxContent.parse(await http.get(inboxUrl).json());
    const deliveries = received
      .map((request) => ({ ...request, event: event.parse(JSON.parse(request.body)) }))
      .filter(({ event }) => event.data['applicationId'] === applicationId);
    for (const { event } of deliveries) {
      if (told.has(event.id)) continue;
      told.add(event.id);
      tell(
        'delivered',
        `${event.type} ${String(event.data['decision'] ?? event.data['status'])} (${event.id})`,
      );
    }
    return told.size >= eventsOfAnAward ? deliveries : undefined;
  });
}

function checkSignatures(deliveries: Delivery[], secret: string): void {
  for (const { headers, body, verified, event } of deliveries) {
    const changed = Buffer.from(body);
    changed[changed.length - 2]! ^= 1;
    for (const scheme of ['service', 'standard'] as const) {
      const of = (bytes: Buffer) => verify({ headers, body: bytes, secrets: [secret], scheme });
      if (!of(Buffer.from(body)).ok)
        throw new Error(`The signature of ${event.id} (${scheme}) does not hold`);
      if (of(changed).ok)
        throw new Error(`The signature of ${event.id} (${scheme}) holds for a changed body`);
    }
    if (verified !== true) throw new Error(`The inbox could not verify ${event.id}`);
  }
}

async function until<T>(what: string, look: () => Promise<T>): Promise<NonNullable<T>> {
  const deadline = Date.now() + stepTimeoutMs;
  for (;;) {
    const seen = await look();
    if (seen) return seen;
    if (Date.now() > deadline) throw new Error(`Waited ${stepTimeoutMs / 1000} s for ${what}`);
    await sleep(lookEveryMs);
  }
}
