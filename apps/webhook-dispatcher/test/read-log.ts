import { expect } from '@jest/globals';
import got from 'got';
import type { z } from 'zod';
import {
  deliveryDetail,
  deliveryList,
  subscriptionCommands,
  topics,
  type Attempt,
  type Delivery,
} from '@assistance/types';
import { cloudEventOf, descriptionOf, newId, structuredRecord } from '@assistance/service-kit';
import { createAnswerCheck, waitUntil } from '@assistance/test-kit';
import { description } from '../src/operations.ts';
import { routes, type RouteDependencies } from '../src/routes.ts';
import type { Dispatcher, Surroundings } from './start-dispatcher.ts';

interface CallOptions {
  clientId?: string;
  scopes?: string[];
  method?: 'GET' | 'POST';
}

/** Every answer is checked against the OpenAPI document; a fault fails the call. */
export const answerCheck = createAnswerCheck(descriptionOf(description, routes({} as RouteDependencies)));

/** The delivery log as a subscriber reads it, and what tests wait for in it. */
export function createLogReader(surroundings: Surroundings, dispatcher: Dispatcher) {
  const { prisma, issuer, publisher } = surroundings;

  async function call(
    path: string,
    { clientId = 'subscriber', scopes = ['events:manage'], method = 'GET' }: CallOptions = {},
  ): Promise<{ status: number; text: string; body: unknown }> {
    const response = await got(`${dispatcher.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${issuer.token({ clientId, scopes })}` },
      throwHttpErrors: false,
      retry: { limit: 0 },
    });
    const { statusCode: status, headers, body: text } = response;
    const body: unknown = JSON.parse(text);
    const faults = answerCheck.faultsOf(method, path, { status, contentType: headers['content-type'], body });
    expect(faults).toEqual([]);
    return { status, text, body };
  }

  /** A 200 whose body conforms, with no field that the schema does not name. */
  async function read<T extends z.ZodType>(schema: T, path: string, clientId?: string): Promise<z.output<T>> {
    const { status, body } = await call(path, clientId === undefined ? {} : { clientId });
    expect({ status, body }).toMatchObject({ status: 200 });
    const parsed = schema.parse(body);
    expect(parsed).toEqual(body);
    return parsed;
  }

  const list = (query: string, clientId?: string) => read(deliveryList, `/deliveries?${query}`, clientId);

  return {
    call,
    read,
    list,
    /** As soon as there are so many, newest first. */
    deliveriesWith: (query: string, count: number): Promise<Delivery[]> =>
      waitUntil(async () => {
        const { data } = await list(`${query}&limit=200`);
        return data.length >= count ? data : undefined;
      }),
    /** What was tried for a subscription's only delivery, once that is over. */
    attemptsOf: async (subscriptionId: string): Promise<Attempt[]> => {
      const over = await waitUntil(
        async () =>
          (await list(`subscriptionId=${subscriptionId}`)).data.find(({ status }) => status !== 'pending'),
        { timeoutMs: 20_000 },
      );
      return (await read(deliveryDetail, `/deliveries/${over.deliveryId}`)).attempts;
    },
    /** The dispatcher knows this version, and the owner of its lanes has applied it. */
    waitForVersion: (subscriptionId: string, version: number): Promise<unknown> =>
      waitUntil(async () => {
        const known = await prisma.subscription.findUnique({ where: { subscriptionId } });
        const asked = await prisma.laneCommand.count({ where: { subscriptionId, kind: 'refresh' } });
        return known !== null && known.version >= version && asked === 0;
      }),
    waitForEvents: (ids: string[]): Promise<unknown> =>
      waitUntil(async () => (await prisma.event.count({ where: { webhookId: { in: ids } } })) === ids.length),
    /** Asks as the subscriptions service does. */
    command: async (
      type: keyof typeof subscriptionCommands,
      data: { subscriptionId: string },
    ): Promise<void> =>
      publisher.publish([
        structuredRecord(
          topics.command.name,
          cloudEventOf({
            id: newId('evt'),
            source: '/subscriptions',
            type,
            subject: data.subscriptionId,
            time: new Date(),
            data: subscriptionCommands[type].parse({ version: 1, ...data }),
          }),
        ),
      ]),
  };
}
export type LogReader = ReturnType<typeof createLogReader>;
