-- What is recorded as blocked without an attempt changes nothing of what is recorded already: a batch that is recorded again,
-- because the answer to its commit was lost, may come after the delivery was released. Otherwise as before.
create or replace function record_outcomes(
  p_owner uuid, p_leases json, p_delivered json, p_unsettled json, p_settled json, p_attempts json, p_lanes json,
  p_reports json
) returns integer[] language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_held integer[];
  v_floor bigint;
  v_delivered jsonb;
begin
  perform pg_advisory_xact_lock_shared(hashtext('log_floor'));
  select seq into strict v_floor from log_floor where id = 1;

  select coalesce(array_agg(held.shard), '{}') into v_held from (
    select l.shard from json_to_recordset(p_leases) as g (shard integer, epoch bigint)
    join shard_lease l on l.shard = g.shard and l.epoch = g.epoch
    where l.owner = p_owner and l.until > clock_timestamp()
    order by l.shard for share of l
  ) held;

  with inserted as (
    insert into delivery (lane_no, seq, attempts, attempted_at, duration_ms, response_status, response_body)
    select lane_no, seq, attempts, attempted_at, duration_ms, response_status, response_body
    from json_to_recordset(p_delivered) as d (shard integer, lane_no bigint, seq bigint, attempts integer,
      attempted_at timestamptz, duration_ms integer, response_status integer, response_body text)
    where d.shard = any (v_held) and d.seq >= v_floor
    on conflict do nothing
    returning lane_no
  )
  select coalesce(jsonb_object_agg(lane_no, count), '{}') into v_delivered
  from (select lane_no, count(*) from inserted group by lane_no) counted;

  -- A success in a replay settles the original delivery too, where that was tried and had not succeeded.
  with healed as (
    delete from unsettled u
    using json_to_recordset(p_delivered) as d (shard integer, origin_lane_no bigint, seq bigint)
    where d.shard = any (v_held) and d.seq >= v_floor and u.lane_no = d.origin_lane_no and u.seq = d.seq
    returning u.lane_no, u.seq, u.attempts
  )
  insert into delivery (lane_no, seq, attempts, attempted_at, duration_ms, response_status, response_body)
  select h.lane_no, h.seq, h.attempts, d.attempted_at, d.duration_ms, d.response_status, d.response_body
  from healed h
  join json_to_recordset(p_delivered) as d (origin_lane_no bigint, seq bigint, attempted_at timestamptz,
    duration_ms integer, response_status integer, response_body text)
    on d.origin_lane_no = h.lane_no and d.seq = h.seq
  on conflict do nothing;

  if json_array_length(p_settled) > 0 then
    delete from unsettled u
    using json_to_recordset(p_settled) as s (shard integer, lane_no bigint, seq bigint)
    where s.shard = any (v_held) and s.seq >= v_floor and u.lane_no = s.lane_no and u.seq = s.seq;
  end if;

  if json_array_length(p_unsettled) > 0 then
    insert into unsettled (lane_no, seq, state, due_at, attempts, counted, attempted_at, reason, response_status, subject)
    select lane_no, seq, state, due_at, attempts, counted, attempted_at, reason, response_status, subject
    from json_to_recordset(p_unsettled) as w (shard integer, lane_no bigint, seq bigint, state text, due_at timestamptz,
      attempts integer, counted integer, attempted_at timestamptz, reason text, response_status integer, subject text)
    where w.shard = any (v_held) and w.seq >= v_floor
    on conflict (lane_no, seq) do update set
      state = excluded.state, due_at = excluded.due_at, attempts = excluded.attempts, counted = excluded.counted,
      attempted_at = excluded.attempted_at, reason = excluded.reason, response_status = excluded.response_status
    where excluded.state <> 'blocked' or excluded.attempts > 0;
  end if;

  if json_array_length(p_attempts) > 0 then
    insert into attempt (lane_no, seq, attempt_number, attempted_at, duration_ms, reason, response_status, response_body)
    select lane_no, seq, attempt_number, attempted_at, duration_ms, reason, response_status, response_body
    from json_to_recordset(p_attempts) as a (shard integer, lane_no bigint, seq bigint, attempt_number integer,
      attempted_at timestamptz, duration_ms integer, reason text, response_status integer, response_body text)
    where a.shard = any (v_held) and a.seq >= v_floor
    on conflict do nothing;
  end if;

  update lane l set
    cursor = n.cursor, delivered = l.delivered + coalesce((v_delivered ->> l.lane_no::text)::bigint, 0), judged = n.judged, judged_epoch = n.judged_epoch,
    reason_code = n.reason_code, reason_since = n.reason_since, fail_count = n.fail_count,
    first_failed_at = n.first_failed_at, probe_count = n.probe_count, revived_at = n.revived_at,
    hold_until = n.hold_until, report_number = n.report_number, state = coalesce(n.state, l.state),
    matched = coalesce(n.matched, l.matched),
    ended_at = case when n.state is null then l.ended_at else clock_timestamp() end
  from json_to_recordset(p_lanes) as n (shard integer, lane_no bigint, cursor bigint, judged text,
    judged_epoch integer, reason_code text, reason_since timestamptz, fail_count integer, first_failed_at timestamptz,
    probe_count integer, revived_at timestamptz, hold_until timestamptz, report_number integer, state text,
    matched bigint)
  where n.shard = any (v_held) and l.lane_no = n.lane_no;

  if json_array_length(p_reports) > 0 then
    insert into outbox (shard, topic, key, value, headers)
    select outbox_shard, topic, key, convert_to(value, 'UTF8'), headers::jsonb
    from json_to_recordset(p_reports) as r (shard integer, outbox_shard integer, topic text, key text, value text,
      headers json)
    where r.shard = any (v_held);
  end if;
  return v_held;
end $$;
