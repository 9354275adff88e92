import type { DeliveryStatus } from '@assistance/types';
import { LAST_SEQ } from './wanted-lanes.ts';

/**
 * The deliveries of some lanes are not rows of one table: each walk goes through one index from the newest down, lane by
 * lane, and stops at the page's size, so a page costs the same wherever it lies.
 *
 * What arrives, and a replay of all, is every event of the lane's spans, whatever was recorded of it. A replay of what
 * failed or is missing chooses, so what it chose is known from its rows, and beyond its cursor from what it will choose.
 *
 * Look-ups by position are scalar subqueries: they can only be index probes, whatever the planner believes of partitions
 * that are too fresh to have statistics.
 */
export function walksOf(
  status: Exclude<DeliveryStatus, 'expired'> | undefined,
  options: { type: string | undefined; limit: string },
): string[] {
  const { type, limit } = options;
  const ofSpans = type === undefined ? '' : `and p.type = ${type}`;
  const ofRows = (row: string): string =>
    type === undefined ? '' : `and (select e.type from event e where e.seq = ${row}.seq) = ${type}`;
  const newest = (row: string): string => `order by ${row}.seq desc limit ${limit}`;

  const events = (lanes: string, condition: string, from = 'w.from_seq', to = 'w.to_seq'): string => `
    select w.lane_no, t.seq from wanted w join span p on p.lane_no = w.lane_no ${ofSpans} cross join lateral (
      select e.seq from event e
      where ${ofType(`greatest(p.from_seq, ${from})`, `least(coalesce(p.to_seq, ${LAST_SEQ}), ${to})`)}
        and ${condition} order by e.type desc, e.seq desc limit ${limit}
    ) t where ${lanes}`;
  const tests = (condition: string, from = 'w.from_seq'): string => `
    select w.lane_no, t.seq from wanted w cross join lateral (
      select e.seq from event e
      where e.only_lane = w.lane_no and e.seq >= ${from} and e.seq <= w.to_seq and ${condition}
        ${type === undefined ? '' : `and e.type = ${type}`} ${newest('e')}
    ) t where w.mode = 'live'`;
  const delivered = (lanes: string): string => `
    select w.lane_no, t.seq from wanted w cross join lateral (
      select d.seq from delivery d
      where d.lane_no = w.lane_no and d.seq >= w.from_seq and d.seq <= w.to_seq ${ofRows('d')} ${newest('d')}
    ) t where ${lanes}`;
  const unsettled = (lanes: string, condition: string): string => `
    select w.lane_no, t.seq from wanted w cross join lateral (
      select u.seq from unsettled u
      where u.lane_no = w.lane_no and u.seq >= w.from_seq and u.seq <= w.to_seq and ${condition}
        and ${notDelivered('u')} ${ofRows('u')} ${newest('u')}
    ) t where ${lanes}`;
  const willTryAgain = `
    select w.lane_no, t.seq from wanted w cross join lateral (
      select u.seq from unsettled u
      where u.lane_no = w.live_lane_no and u.attempts > 0 and u.seq >= ${BEYOND_CURSOR} and u.seq <= w.to_seq
        and (select true from event e join span p on p.lane_no = w.lane_no and p.type = e.type
             where e.seq = u.seq and e.seq >= p.from_seq and e.seq <= coalesce(p.to_seq, ${LAST_SEQ})
               and e.event_time >= w.replay_since limit 1)
        and ${notRecorded('u')} ${ofRows('u')} ${newest('u')}
    ) t where w.mode in ('failed', 'missing') and w.state <> 'completed'`;
  // What the live lane takes of a type now, it takes up to the end of the log: it never had only what lies before.
  const willTryFirst = `
    select w.lane_no, t.seq from wanted w join span p on p.lane_no = w.lane_no ${ofSpans} cross join lateral (
      select e.seq from event e
      where ${ofType(`greatest(p.from_seq, ${BEYOND_CURSOR})`, `least(coalesce(p.to_seq, ${LAST_SEQ}), w.to_seq, ${BEFORE_LIVE})`)}
        and e.event_time >= w.replay_since and ${neverTaken} and ${notRecorded('e')} and ${notReplayed}
      order by e.type desc, e.seq desc limit ${limit}
    ) t where w.mode = 'missing' and w.state <> 'completed'`;

  switch (status) {
    case undefined:
      return [
        events(whole, sinceReplay),
        tests('true'),
        delivered(chosen),
        unsettled(chosen, 'true'),
        willTryAgain,
        willTryFirst,
      ];
    case 'delivered':
      return [
        events(whole, `${sinceReplay} and not ${notDelivered('e')}`, ...BETWEEN_DELIVERED),
        tests(`not ${notDelivered('e')}`),
        delivered(chosen),
      ];
    case 'dead':
      return [unsettled('true', `u.state = 'dead'`)];
    case 'pending':
    case 'cancelled':
      return [
        unsettled('true', `u.state <> 'dead'`),
        events(whole, `${sinceReplay} and ${notRecorded('e')}`, BEYOND_CURSOR),
        tests(notRecorded('e'), BEYOND_CURSOR),
        willTryAgain,
        willTryFirst,
      ];
  }
}

/**
 * Events of a type, down the index of (type, seq). Said as rows, and in the order of both, because no other index has
 * that order: the planner would rather go down the primary key past thousands of other types. The plain bounds tell
 * which partitions there are to read.
 */
export const ofType = (from: string, to: string): string => `
  (e.type, e.seq) >= (p.type, ${from}) and (e.type, e.seq) <= (p.type, ${to}) and e.seq >= ${from} and e.seq <= ${to}`;
const whole = `w.mode in ('live', 'all')`;
const chosen = `w.mode in ('failed', 'missing')`;
const BEYOND_CURSOR = 'greatest(w.from_seq, w.cursor + 1)';
const BEFORE_LIVE = `coalesce((select max(q.from_seq) - 1 from span q
  where q.lane_no = w.live_lane_no and q.type = p.type and q.to_seq is null), ${LAST_SEQ})`;
const sinceReplay = '(w.replay_since is null or e.event_time >= w.replay_since)';
const neverTaken = `not exists (select 1 from span q where q.lane_no = w.live_lane_no and q.type = e.type
  and e.seq >= q.from_seq and e.seq <= coalesce(q.to_seq, ${LAST_SEQ}))`;
const notReplayed = `not exists (select 1 from lane r
  where r.subscription_id = w.subscription_id and r.replay_id is not null and r.created_at >= e.arrived_at
    and (select true from delivery d where d.lane_no = r.lane_no and d.seq = e.seq))`;
/** Nothing before or after is delivered: a long backlog is passed over in one step. */
const BETWEEN_DELIVERED = [
  'greatest(w.from_seq, (select min(d.seq) from delivery d where d.lane_no = w.lane_no))',
  'least(w.to_seq, (select coalesce(max(d.seq), -1) from delivery d where d.lane_no = w.lane_no))',
] as const;
const notDelivered = (row: string): string =>
  `((select true from delivery d where d.lane_no = w.lane_no and d.seq = ${row}.seq) is null)`;
const notRecorded = (row: string): string =>
  `${notDelivered(row)} and (select true from unsettled v where v.lane_no = w.lane_no and v.seq = ${row}.seq) is null`;
