import { setTimeout as sleep } from 'node:timers/promises';
import got from 'got';
import { z } from 'zod';
import { getToken, runMainJob } from '../platform/main-job.ts';
import type { Platform } from '../platform/platform-file.ts';

const events = 20;
const withinMs = 30_000;
const callback = z.object({ callbackUrl: z.string() });
const subscribed = z.object({ subscriptionId: z.string() });
const page = z.object({ data: z.array(z.unknown()) });

/** Leaves things to be found: an application with its history, a subscription, deliveries with their attempts. */
export async function furnish(platform: Platform): Promise<void> {
  await runMainJob(platform, () => {});
  const http = got.extend({ headers: { authorization: `Bearer ${await tokenOf(platform, 'partner')}` } });
  const inbox = `${platform.sandbox}/inboxes/furnished`;
  const { callbackUrl } = callback.parse(await http.put(inbox, { json: { failFirst: 3 } }).json());
  const { subscriptionId } = subscribed.parse(
    await http
      .post(`${platform.events}/subscriptions`, { json: { eventTypes: ['document.available'], callbackUrl } })
      .json(),
  );
  await http.post(`${platform.sandbox}/events`, { json: { type: 'document.available', count: events } });
  const deadline = Date.now() + withinMs;
  for (;;) {
    const answer = await http(`${platform.deliveries}/deliveries?subscriptionId=${subscriptionId}`, {
      throwHttpErrors: false,
    });
    if (answer.statusCode === 200 && page.parse(JSON.parse(answer.body)).data.length === events) return;
    if (Date.now() > deadline) throw new Error(`Waited ${withinMs / 1000} s for ${events} deliveries`);
    await sleep(100);
  }
}

/** A token of a client of the sandbox, with all scopes that it has. */
export function tokenOf(platform: Platform, clientId: string): Promise<string> {
  const client = platform.clients.find((each) => each.clientId === clientId);
  if (client?.clientSecret === undefined) throw new Error(`The sandbox has no client "${clientId}"`);
  return getToken(platform, clientId, client.clientSecret);
}
