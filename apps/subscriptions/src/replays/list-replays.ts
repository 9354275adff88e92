import { z } from 'zod';
import { invalidCursor, type Answer, type ApiRequest, type pageQuery } from '@assistance/service-kit';
import type { replayList } from '@assistance/types';
import type { Dependencies } from '../dependencies.ts';
import { findSubscription } from '../subscriptions/find-subscription.ts';
import { replayOfRow } from './replay-of-row.ts';

const position = z.tuple([z.coerce.date(), z.string()]);

/** GET /subscriptions/{subscriptionId}/replays: newest first, in pages. */
export async function listReplays(
  { caller, params, query }: ApiRequest<undefined, z.output<typeof pageQuery>>,
  { prisma, cursors }: Dependencies,
): Promise<Answer> {
  const { limit, cursor } = query;
  const binding = ['replays', caller.owner, params['subscriptionId']];
  const after = cursor === undefined ? undefined : positionOf(cursors.decode(cursor, binding));
  const { subscriptionId } = await findSubscription(prisma, params['subscriptionId'] ?? '', caller.owner);
  const rows = await prisma.replay.findMany({
    where: { subscriptionId, ...(after === undefined ? {} : olderThan(after)) },
    orderBy: [{ requestedAt: 'desc' }, { replayId: 'desc' }],
    take: limit + 1,
  });
  const shown = rows.slice(0, limit);
  const last = rows.length > limit ? shown.at(-1) : undefined;
  const nextCursor = last === undefined ? null : cursors.encode([last.requestedAt, last.replayId], binding);
  const body: z.output<typeof replayList> = { data: shown.map(replayOfRow), page: { nextCursor, limit } };
  return { status: 200, body };
}

function positionOf(decoded: unknown): [Date, string] {
  const parsed = position.safeParse(decoded);
  if (!parsed.success) throw invalidCursor();
  return parsed.data;
}

const olderThan = ([requestedAt, replayId]: [Date, string]) => ({
  requestedAt: { lte: requestedAt },
  OR: [{ requestedAt: { lt: requestedAt } }, { replayId: { lt: replayId } }],
});
