import { randomBytes, randomUUID } from 'node:crypto';
import { idOfNumbers } from '@assistance/service-kit';
import type { PrismaClient } from '../src/generated/prisma/client.ts';
import { seqOf } from '../src/log/event-log.ts';

export const DAY_MS = 86_400_000;

/** Noon (UTC) of so many days ago. */
export const noonOf = (daysAgo: number): Date =>
  new Date(Math.floor(Date.now() / DAY_MS) * DAY_MS - daysAgo * DAY_MS + DAY_MS / 2);

export const dayOf = (time: Date): string => time.toISOString().slice(0, 10);

/** An id as it was made then: a UUIDv7. */
export const eventIdOf = (time: Date): string =>
  idOfNumbers(
    'evt',
    (BigInt(time.getTime()) << 16n) | 0x7000n,
    (1n << 63n) | (randomBytes(8).readBigUInt64BE() >> 2n),
  );

/** Puts events into the log as if they had arrived at noon of a past day; answers their positions and ids. */
export async function putOldEvents(
  prisma: PrismaClient,
  daysAgo: number,
  count: number,
  { subject, onlyLane = null }: { subject?: string; onlyLane?: bigint | null } = {},
): Promise<{ seq: number; id: string }[]> {
  const time = noonOf(daysAgo);
  await prisma.$queryRawUnsafe('select make_day($1::date)::text', dayOf(time));
  const { _max } = await prisma.event.aggregate({
    where: { seq: { lt: seqOf(time) + DAY_MS * 1024 } },
    _max: { seq: true },
  });
  const first = Math.max(seqOf(time), Number(_max.seq ?? 0) + 1);
  const events = Array.from({ length: count }, (_, i) => ({ seq: first + i, id: eventIdOf(time) }));
  await prisma.event.createMany({
    data: events.map(({ seq, id }) => ({
      seq: BigInt(seq),
      type: onlyLane === null ? 'document.available' : 'subscription.test',
      onlyLane,
      eventKey: randomUUID(),
      webhookId: id,
      subject: subject ?? id,
      eventTime: time,
      arrivedAt: time,
      body: Buffer.from(JSON.stringify({ id })),
    })),
  });
  return events;
}

/** Tables of past days that are there, whatever they are to their parents. */
export async function tablesOfDay(prisma: PrismaClient, daysAgo: number): Promise<string[]> {
  const rows = await prisma.$queryRawUnsafe<{ relname: string }[]>(
    `select relname::text from pg_class where relkind = 'r' and relname like '%\\_' || $1 order by 1`,
    dayOf(noonOf(daysAgo)).replaceAll('-', ''),
  );
  return rows.map(({ relname }) => relname);
}
