import type { Client } from 'pg';

/**
 * Events of a type that arrived before now, in as many milliseconds as there are events, as the intake stores them. Without
 * the index of the day's webhook ids they could not be looked up; it is there like everything else of a day.
 */
export async function seedEvents(client: Client, type: string, count: number): Promise<void> {
  const day = `(clock_timestamp() at time zone 'UTC')::date`;
  for (const back of [0, 1]) await client.query(`select make_day(${day} - ${back})`);
  await client.query(
    `insert into event (seq, type, event_key, webhook_id, subject, event_time, arrived_at, body)
     select seq_of(at), $1, gen_random_uuid(), id, id, at, at,
            convert_to(json_build_object('specversion', '1.0', 'id', id, 'source', '/bench', 'type', $1::text,
              'subject', id, 'time', at, 'datacontenttype', 'application/json',
              'data', json_build_object('documentId', id, 'availableAt', at, 'note', repeat('x', 150)))::text, 'UTF8')
     from (select 'evt_' || gen_random_uuid() as id, date_trunc('milliseconds', now()) - make_interval(secs => n / 1000.0) as at
           from generate_series(1, $2::int) n) e`,
    [type, count],
  );
  await client.query(`update log_head set seq = greatest(seq, (select max(seq) from event))`);
  await client.query('vacuum analyze event');
  await client.query('checkpoint');
}
