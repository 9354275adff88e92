import { expect } from '@jest/globals';
import { subscriptionRecord, topics, type SubscriptionRecord } from '@assistance/types';
import type { Caller, EventsApi } from './start-events-api.ts';

export const wanted = {
  eventTypes: ['application.decided', 'case.status_changed'],
  callbackUrl: 'https://example.com/hooks',
};

/** A subscription made over HTTP; answers the body, secret included. */
export async function subscribe(caller: Caller, body: object = wanted) {
  const answer = await caller('POST', '/subscriptions', body);
  expect(answer.statusCode).toBe(201);
  return answer.body;
}

/** What went to the outbox about a subscription since the last look, in order; the outbox is empty afterwards. */
export async function takeOutbox({ prisma }: EventsApi, subscriptionId: string) {
  const rows = await prisma.outbox.findMany({ where: { key: subscriptionId }, orderBy: { id: 'asc' } });
  await prisma.outbox.deleteMany({ where: { id: { in: rows.map(({ id }) => id) } } });
  return rows.map(({ topic, shard, headers, value }) => ({
    topic,
    shard,
    headers: headers as Record<string, string>,
    value: value === null ? null : JSON.parse(Buffer.from(value).toString()),
  }));
}

/** The one record that a change published. */
export async function takeRecord(api: EventsApi, subscriptionId: string): Promise<SubscriptionRecord> {
  const rows = await takeOutbox(api, subscriptionId);
  expect(rows.map(({ topic }) => topic)).toEqual([topics.subscription.name]);
  return subscriptionRecord.parse(rows[0]?.value);
}
