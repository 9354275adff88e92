import { binaryRecord, cloudEventOf, newId, outboxRow, structuredRecord } from '@assistance/service-kit';
import {
  subscriptionRecordType,
  topics,
  type SubscriptionCommandData,
  type SubscriptionCommandType,
} from '@assistance/types';
import type { Subscription as Row } from './generated/prisma/client.ts';
import type { Transaction } from './open-database.ts';
import { recordOfRow } from './subscriptions/record-of-row.ts';

const source = '/subscriptions';

/** The state of a subscription, for the compacted topic; in the transaction of the change, its row locked. */
export async function publishRecord(transaction: Transaction, row: Row, now: Date): Promise<void> {
  const record = binaryRecord(topics.subscription.name, {
    ...envelope(row.subscriptionId, now),
    type: subscriptionRecordType,
    data: recordOfRow(row),
  });
  await transaction.outbox.create({ data: outboxRow(record) });
}

/** The end of a subscription on the compacted topic. */
export async function publishTombstone(
  transaction: Transaction,
  subscriptionId: string,
  now: Date,
): Promise<void> {
  const record = binaryRecord(topics.subscription.name, {
    ...envelope(subscriptionId, now),
    type: subscriptionRecordType,
    data: null,
  });
  await transaction.outbox.create({ data: outboxRow(record) });
}

/** What an owner asks of the dispatcher; in the transaction that remembers the wish, the subscription's row locked. */
export async function publishCommand<Type extends SubscriptionCommandType>(
  transaction: Transaction,
  type: Type,
  data: SubscriptionCommandData<Type>,
  now: Date,
): Promise<void> {
  const event = cloudEventOf({ ...envelope(data.subscriptionId, now), type, data });
  await transaction.outbox.create({ data: outboxRow(structuredRecord(topics.command.name, event)) });
}

const envelope = (subject: string, time: Date) => ({ id: newId('evt'), source, subject, time });
