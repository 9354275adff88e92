import { topics } from '@assistance/types';
import {
  readToEnd,
  UnacceptableRecord,
  type connectKafka,
  type ReceivedRecord,
} from '@assistance/service-kit';
import type { PrismaClient } from '../generated/prisma/client.ts';
import { mirrorSubscriptions } from './mirror-subscription.ts';

export interface Rebuilt {
  /** Subscriptions that the topic told of, deleted ones included. */
  read: number;
  /** `<partition>:<offset>` of records that are no subscriptions. */
  unreadable: string[];
  /** Subscriptions in the mirror of which the topic says nothing: left as they are. */
  untold: string[];
}

/**
 * Reads the compacted topic from its beginning to its end and makes of the mirror what the newest record of each
 * subscription says, also where the mirror knows that version already. Beside running instances, and again after it died
 * half-way, it does the same: each subscription is one transaction, and a newer version is never replaced.
 */
export async function rebuildMirror({
  prisma,
  kafka,
  topicPrefix,
}: {
  prisma: PrismaClient;
  kafka: ReturnType<typeof connectKafka>;
  topicPrefix: string;
}): Promise<Rebuilt> {
  const newest = new Map<string, ReceivedRecord>();
  await readToEnd({
    ...{ kafka, topicPrefix, topic: topics.subscription.name, groupId: 'webhook-dispatcher-rebuild' },
    handle: async (records) => {
      for (const record of records) newest.set(record.key ?? '', record);
    },
  });
  const unreadable: string[] = [];
  for (const record of newest.values()) {
    try {
      await mirrorSubscriptions(prisma, [record], { again: true });
    } catch (error) {
      if (!(error instanceof UnacceptableRecord)) throw error;
      unreadable.push(`${record.partition}:${record.offset}`);
    }
  }
  const known = await prisma.subscription.findMany({ select: { subscriptionId: true } });
  const untold = known.map(({ subscriptionId }) => subscriptionId).filter((id) => !newest.has(id));
  return { read: newest.size - unreadable.length, unreadable, untold };
}
