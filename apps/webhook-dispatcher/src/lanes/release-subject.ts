import type { Sql } from '@assistance/service-kit';
import { logFloor } from '../log/log-floor.ts';
import type { Lane } from './lane.ts';

/** Who may write of a lane: the one that holds its shard's lease, in this epoch of it. */
export interface LeaseProof {
  shard: number;
  owner: string;
  epoch: bigint;
}

const leaseOf = (shard: string, owner: string, epoch: string): string => `
  lease as (
    select from shard_lease
    where shard = ${shard}::int and owner = ${owner}::uuid and epoch = ${epoch}::bigint and until > clock_timestamp()
    for share
  )`;

/**
 * With order per subject: when the head of a subject is settled, the next that is blocked behind it becomes due; null when
 * there is none. With `again`, after a call of which the answer was lost: what that released stays the only one. Whoever has
 * lost the lease changes nothing and learns nothing (undefined): the next owner has released one of its own, and of two that
 * are due at once the later could overtake.
 */
export async function releaseSubject(
  sql: Sql,
  lane: Lane,
  subject: string,
  { shard, owner, epoch }: LeaseProof,
  again = false,
): Promise<number | null | undefined> {
  const [row] = await sql.$queryRawUnsafe<{ seq: number | null; isMine: boolean }[]>(
    `with ${leaseOf('$3', '$4', '$5')}, before as (
       select case when $6::boolean then (
         select min(seq) from unsettled
         where lane_no = $1::bigint and subject = $2 and state = 'retry' and seq >= ${logFloor}) end as seq
     ), released as (
       update unsettled set state = 'retry', due_at = clock_timestamp()
       where (lane_no, seq) = (
         select lane_no, seq from unsettled
         where lane_no = $1::bigint and subject = $2 and state = 'blocked' and seq >= ${logFloor} order by seq limit 1)
         and exists (select from lease) and (select seq from before) is null
       returning seq
     )
     select coalesce((select seq from before), (select seq from released))::float8 as seq,
            exists (select from lease) as "isMine"`,
    lane.laneNo,
    subject,
    shard,
    owner,
    epoch,
    again,
  );
  return row?.isMine === true ? row.seq : undefined;
}

/** Without order per subject nothing stays blocked. */
export const releaseAllSubjects = (
  sql: Sql,
  lane: Lane,
  { shard, owner, epoch }: LeaseProof,
): PromiseLike<number> =>
  sql.$executeRawUnsafe(
    `with ${leaseOf('$2', '$3', '$4')}
     update unsettled set state = 'retry', due_at = clock_timestamp()
     where lane_no = $1::bigint and state = 'blocked' and seq >= ${logFloor} and exists (select from lease)`,
    lane.laneNo,
    shard,
    owner,
    epoch,
  );

/** Subjects that have a delivery waiting for its next attempt, and those that only have blocked ones. */
export async function readHeldSubjects(
  sql: Sql,
  lane: Lane,
): Promise<{ subject: string; head: number | null }[]> {
  return sql.$queryRawUnsafe(
    `select subject, min(seq) filter (where state = 'retry')::float8 as head from unsettled
     where lane_no = $1::bigint and state in ('retry', 'blocked') and seq >= ${logFloor} group by subject`,
    lane.laneNo,
  );
}
