import type { Sql } from '@assistance/service-kit';

/**
 * A span that was added to a lane may begin before the lane's cursor: the cursor goes back to its beginning, once. What
 * is recorded beyond it is known when the lane is loaded, and not sent again. Only the shard's owner does this.
 */
export async function joinSpans(
  sql: Sql,
  lanes: { subscriptionId: string } | { shards: number[] },
): Promise<void> {
  const where = 'shards' in lanes ? 'l.shard = any($1::int[])' : 'l.subscription_id = $1';
  await sql.$executeRawUnsafe(
    `with joining as (
       update span s set joined = true from lane l
       where not s.joined and l.lane_no = s.lane_no and ${where}
       returning s.lane_no, s.from_seq
     )
     update lane l set cursor = least(l.cursor, j.from_seq - 1)
     from (select lane_no, min(from_seq) as from_seq from joining group by lane_no) j
     where l.lane_no = j.lane_no`,
    'shards' in lanes ? lanes.shards : lanes.subscriptionId,
  );
}
