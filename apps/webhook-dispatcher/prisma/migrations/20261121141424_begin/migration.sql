-- CreateTable
CREATE TABLE "log_head" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "seq" BIGINT NOT NULL,

    CONSTRAINT "log_head_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "event" (
    "seq" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "only_lane" BIGINT,
    "event_key" UUID NOT NULL,
    "webhook_id" TEXT NOT NULL,
    "subject" TEXT NOT NULL,
    "event_time" TIMESTAMPTZ(3) NOT NULL,
    "arrived_at" TIMESTAMPTZ(3) NOT NULL,
    "body" BYTEA NOT NULL,

    CONSTRAINT "event_pkey" PRIMARY KEY ("seq")
) PARTITION BY RANGE ("seq");

-- CreateTable
CREATE TABLE "subscription" (
    "subscription_id" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "version" INTEGER NOT NULL,
    "status" TEXT NOT NULL,
    "status_epoch" INTEGER NOT NULL,
    "callback_url" TEXT NOT NULL,
    "ordering" TEXT NOT NULL,
    "secrets" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "subscription_pkey" PRIMARY KEY ("subscription_id")
);

-- CreateTable
CREATE TABLE "lane" (
    "lane_no" BIGSERIAL NOT NULL,
    "subscription_id" TEXT NOT NULL,
    "shard" INTEGER NOT NULL,
    "replay_id" TEXT,
    "replay_mode" TEXT,
    "replay_since" TIMESTAMPTZ(3),
    "state" TEXT NOT NULL DEFAULT 'open',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
    "ended_at" TIMESTAMPTZ(3),
    "cursor" BIGINT NOT NULL,
    "delivered" BIGINT NOT NULL DEFAULT 0,
    "matched" BIGINT,
    "judged" TEXT NOT NULL DEFAULT 'active',
    "judged_epoch" INTEGER NOT NULL DEFAULT 0,
    "reason_code" TEXT,
    "reason_since" TIMESTAMPTZ(3),
    "fail_count" INTEGER NOT NULL DEFAULT 0,
    "first_failed_at" TIMESTAMPTZ(3),
    "probe_count" INTEGER NOT NULL DEFAULT 0,
    "revived_at" TIMESTAMPTZ(3),
    "hold_until" TIMESTAMPTZ(3),
    "report_number" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "lane_pkey" PRIMARY KEY ("lane_no")
) WITH (fillfactor = 50);

-- CreateTable
CREATE TABLE "span" (
    "lane_no" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "from_seq" BIGINT NOT NULL,
    "to_seq" BIGINT,
    "joined" BOOLEAN NOT NULL DEFAULT true,

    CONSTRAINT "span_pkey" PRIMARY KEY ("lane_no","type","from_seq")
);

-- CreateTable
CREATE TABLE "lane_command" (
    "id" BIGSERIAL NOT NULL,
    "shard" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "subscription_id" TEXT NOT NULL,
    "lane_no" BIGINT,
    "seq" BIGINT,
    "held" BOOLEAN NOT NULL DEFAULT false,

    CONSTRAINT "lane_command_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "parked_command" (
    "command_id" TEXT NOT NULL,
    "subscription_id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "data" JSONB NOT NULL,
    "parked_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "parked_command_pkey" PRIMARY KEY ("command_id")
);

-- CreateTable
CREATE TABLE "delivery" (
    "lane_no" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "attempts" INTEGER NOT NULL,
    "attempted_at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "response_status" INTEGER NOT NULL,
    "response_body" TEXT,

    CONSTRAINT "delivery_pkey" PRIMARY KEY ("lane_no","seq")
) PARTITION BY RANGE ("seq");

-- CreateTable
CREATE TABLE "unsettled" (
    "lane_no" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "state" TEXT NOT NULL,
    "due_at" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL,
    "counted" INTEGER NOT NULL,
    "attempted_at" TIMESTAMPTZ(3),
    "reason" TEXT,
    "response_status" INTEGER,
    "subject" TEXT NOT NULL,

    CONSTRAINT "unsettled_pkey" PRIMARY KEY ("lane_no","seq")
) PARTITION BY RANGE ("seq");

-- CreateTable
CREATE TABLE "attempt" (
    "lane_no" BIGINT NOT NULL,
    "seq" BIGINT NOT NULL,
    "attempt_number" INTEGER NOT NULL,
    "attempted_at" TIMESTAMPTZ(3) NOT NULL,
    "duration_ms" INTEGER NOT NULL,
    "reason" TEXT,
    "response_status" INTEGER,
    "response_body" TEXT,

    CONSTRAINT "attempt_pkey" PRIMARY KEY ("lane_no","seq","attempt_number")
) PARTITION BY RANGE ("seq");

-- CreateTable
CREATE TABLE "log_floor" (
    "id" INTEGER NOT NULL DEFAULT 1,
    "seq" BIGINT NOT NULL,
    "tallied_seq" BIGINT NOT NULL,

    CONSTRAINT "log_floor_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "tally" (
    "subscription_id" TEXT NOT NULL,
    "day" DATE NOT NULL,
    "matched" BIGINT NOT NULL,
    "delivered" BIGINT NOT NULL,
    "dead" BIGINT NOT NULL,
    "cancelled" BIGINT NOT NULL,
    "expired" BIGINT NOT NULL,

    CONSTRAINT "tally_pkey" PRIMARY KEY ("subscription_id","day")
);

-- CreateTable
CREATE TABLE "shard_lease" (
    "shard" INTEGER NOT NULL,
    "owner" UUID,
    "epoch" BIGINT NOT NULL DEFAULT 0,
    "until" TIMESTAMPTZ(3),

    CONSTRAINT "shard_lease_pkey" PRIMARY KEY ("shard")
);

-- CreateTable
CREATE TABLE "shard_member" (
    "owner" UUID NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "shard_member_pkey" PRIMARY KEY ("owner")
);

-- CreateTable
CREATE TABLE "outbox" (
    "id" BIGSERIAL NOT NULL,
    "shard" INTEGER NOT NULL,
    "topic" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "value" BYTEA,
    "headers" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "outbox_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox_lease" (
    "shard" INTEGER NOT NULL,
    "owner" UUID,
    "epoch" BIGINT NOT NULL DEFAULT 0,
    "until" TIMESTAMPTZ(3),

    CONSTRAINT "outbox_lease_pkey" PRIMARY KEY ("shard")
);

-- CreateTable
CREATE TABLE "outbox_member" (
    "owner" UUID NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "outbox_member_pkey" PRIMARY KEY ("owner")
);

-- CreateIndex
CREATE INDEX "event_type_seq_idx" ON "event"("type", "seq");

-- CreateIndex
CREATE INDEX "subscription_owner_idx" ON "subscription"("owner");

-- CreateIndex
CREATE UNIQUE INDEX "lane_replay_id_key" ON "lane"("replay_id");

-- CreateIndex
CREATE INDEX "lane_subscription_id_idx" ON "lane"("subscription_id");

-- CreateIndex
CREATE INDEX "lane_shard_idx" ON "lane"("shard");

-- CreateIndex
CREATE INDEX "lane_command_shard_held_id_idx" ON "lane_command"("shard", "held", "id");

-- CreateIndex
CREATE INDEX "lane_command_subscription_id_idx" ON "lane_command"("subscription_id");

-- CreateIndex
CREATE INDEX "parked_command_subscription_id_idx" ON "parked_command"("subscription_id");

-- CreateIndex
CREATE INDEX "unsettled_lane_no_due_at_idx" ON "unsettled"("lane_no", "due_at");

-- CreateIndex
CREATE INDEX "tally_day_idx" ON "tally"("day");

-- CreateIndex
CREATE INDEX "outbox_shard_id_idx" ON "outbox"("shard", "id");

INSERT INTO "log_head" ("id", "seq") VALUES (1, 0);
INSERT INTO "log_floor" ("id", "seq", "tallied_seq") VALUES (1, 0, 0);
INSERT INTO "shard_lease" ("shard") SELECT generate_series(0, 63);
INSERT INTO "outbox_lease" ("shard") SELECT generate_series(0, 15);

-- A position in the log: the milliseconds of arrival x 2048, and a counter. Times convert to it, days are ranges of it.
create function seq_of(p_time timestamptz) returns bigint language sql immutable strict
  as $$ select floor(extract(epoch from p_time) * 1000)::bigint * 2048 $$;

-- Makes the partitions of one day (UTC). Indexes that only a partition can have are made here:
-- an event is unique within its day, and few events are meant for one lane only.
create function make_day(p_day date) returns void language plpgsql as $$
declare
  v_suffix text := to_char(p_day, 'YYYYMMDD');
  v_from bigint := seq_of(p_day::timestamp at time zone 'UTC');
  v_to bigint := seq_of((p_day + 1)::timestamp at time zone 'UTC');
  v_table text;
begin
  -- One maker at a time: two that find a partition missing would both make it.
  perform pg_advisory_xact_lock(hashtext('make_day'));
  foreach v_table in array array['event', 'delivery', 'unsettled', 'attempt'] loop
    if to_regclass(v_table || '_' || v_suffix) is null then
      execute format('create table %I partition of %I for values from (%s) to (%s)',
        v_table || '_' || v_suffix, v_table, v_from, v_to);
      if v_table = 'unsettled' then
        execute format('create index on %I (lane_no, subject, seq) where state = %L', 'unsettled_' || v_suffix, 'blocked');
        -- While a subscription is failing, what was tried longest ago is tried next.
        execute format('create index on %I (lane_no, attempted_at nulls first, seq) where state = %L', 'unsettled_' || v_suffix, 'retry');
        -- The delivery log lists the dead, and what waits, newest first, each without passing over the other.
        execute format('create index on %I (lane_no, seq) where state = %L', 'unsettled_' || v_suffix, 'dead');
        execute format('create index on %I (lane_no, seq) where state <> %L', 'unsettled_' || v_suffix, 'dead');
      elsif v_table = 'event' then
        execute format('create unique index on %I (event_key)', 'event_' || v_suffix);
        execute format('create index on %I (webhook_id)', 'event_' || v_suffix);
        execute format('create index on %I (only_lane, seq) where only_lane is not null', 'event_' || v_suffix);
      end if;
    end if;
  end loop;
end $$;

-- Below the floor nothing is read or recorded any more, so that the days below it can be counted and dropped. Recordings
-- share this lock: one that read the old floor is committed before a new one is.
create function raise_log_floor(p_seq bigint) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('log_floor'));
  update log_floor set seq = p_seq where id = 1 and seq < p_seq;
end $$;

-- Counts what became of the events of a day (UTC) below the floor, by subscription, as the reconciliation does; replays
-- and tests are left out. What is neither delivered nor dead was cancelled with its subscription, or has expired.
create function tally_day(p_day date) returns void language plpgsql as $$
declare
  v_from bigint := seq_of(p_day::timestamp at time zone 'UTC');
  v_to bigint := seq_of((p_day + 1)::timestamp at time zone 'UTC') - 1;
begin
  insert into tally (subscription_id, day, matched, delivered, dead, cancelled, expired)
  with taken as (
    select p.lane_no, p.type, greatest(p.from_seq, v_from) as from_seq, least(coalesce(p.to_seq, v_to), v_to) as to_seq
    from span p join lane l on l.lane_no = p.lane_no and l.replay_id is null
    where p.from_seq <= v_to and coalesce(p.to_seq, v_to) >= v_from
  ), counted as materialized (
    -- Most lanes take whole days of a type: each stretch is counted once for all.
    select t.*, (select count(*) from event e where e.type = t.type and e.seq >= t.from_seq and e.seq <= t.to_seq)
    from (select distinct type, from_seq, to_seq from taken) t
  ), matched as (
    select t.lane_no, sum(c.count)::bigint as count from taken t join counted c using (type, from_seq, to_seq)
    group by t.lane_no
  ), test as materialized (
    select e.seq from event e where e.only_lane is not null and e.seq >= v_from and e.seq <= v_to
  ), delivered as (
    select d.lane_no, count(*) from delivery d
    where d.seq >= v_from and d.seq <= v_to and not exists (select 1 from test where test.seq = d.seq)
    group by d.lane_no
  ), dead as (
    select u.lane_no, count(*) from unsettled u
    where u.seq >= v_from and u.seq <= v_to and u.state = 'dead' and not exists (select 1 from test where test.seq = u.seq)
    group by u.lane_no
  )
  select s.subscription_id, p_day, m.count, coalesce(d.count, 0), coalesce(x.count, 0),
         case when s.status = 'deleted' then rest.count else 0 end,
         case when s.status = 'deleted' then 0 else rest.count end
  from matched m
  join lane l on l.lane_no = m.lane_no
  join subscription s on s.subscription_id = l.subscription_id
  left join delivered d on d.lane_no = m.lane_no
  left join dead x on x.lane_no = m.lane_no
  cross join lateral (select m.count - coalesce(d.count, 0) - coalesce(x.count, 0) as count) rest
  where m.count > 0
  on conflict do nothing;

  -- What is kept may be blocked behind a delivery that has expired: the owners of these lanes read them anew.
  insert into lane_command (shard, kind, subscription_id)
  select distinct l.shard, 'reload', l.subscription_id
  from unsettled u
  join lane l on l.lane_no = u.lane_no and l.state = 'open'
  join subscription s on s.subscription_id = l.subscription_id and s.ordering = 'subject'
  where u.seq >= v_from and u.seq <= v_to and u.state <> 'dead';
  perform pg_notify('lane_command', '');

  update log_floor set tallied_seq = v_to + 1 where id = 1 and tallied_seq <= v_to;
end $$;

-- Appends events to the log, each once, and answers how many were new. The lock of the head row puts all arrivals in
-- one order, so a position is committed only after every lower one. The statements after the lock see what was committed
-- before it, which one statement would not. Fresh partitions have no statistics, so the plan is told what is right.
create function take_in(p_events json, p_bodies bytea) returns integer language plpgsql
  set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_head bigint;
  v_now timestamptz(3);
  v_count integer;
begin
  select seq into strict v_head from log_head where id = 1 for update;
  v_now := clock_timestamp();
  v_head := greatest(v_head, seq_of(v_now) - 1);
  insert into event (seq, type, only_lane, event_key, webhook_id, subject, event_time, arrived_at, body)
  select v_head + row_number() over (order by g.i), g.type, g.only_lane, g.event_key, g.webhook_id, g.subject,
         case when g.event_time > v_now or g.event_time < v_now - interval '7 days' then v_now else g.event_time end,
         v_now, substring(p_bodies from g.start + 1 for g.length)
  from (
    select distinct on (r.event_key) r.*
    from json_to_recordset(p_events) as r (
      i integer, type text, only_lane bigint, event_key uuid, webhook_id text, subject text, event_time timestamptz,
      start integer, length integer)
    order by r.event_key, r.i
  ) g
  -- A repeat may come days later, and with another time; an index of each day that is kept knows its keys.
  where not exists (select 1 from event e where e.event_key = g.event_key);
  get diagnostics v_count = row_count;
  if v_count > 0 then
    update log_head set seq = v_head + v_count where id = 1;
    perform pg_notify('log', (v_head + v_count)::text);
  end if;
  return v_count;
end $$;

-- Records what became of deliveries, all or nothing for each shard: only while the caller's lease of it, by owner and
-- epoch, has not ended. The share lock keeps a takeover from committing between the check and the writes. Answers the
-- shards that were recorded; what belongs to any other is refused. Of events below the log's floor nothing is recorded:
-- their day is counted, and may be gone. Plans are told what is right on fresh partitions.
create function record_outcomes(
  p_owner uuid, p_leases json, p_delivered json, p_unsettled json, p_settled json, p_attempts json, p_lanes json,
  p_reports json
) returns integer[] language plpgsql set enable_hashjoin = off set enable_mergejoin = off as $$
declare
  v_held integer[];
  v_floor bigint;
begin
  perform pg_advisory_xact_lock_shared(hashtext('log_floor'));
  select seq into strict v_floor from log_floor where id = 1;

  select coalesce(array_agg(held.shard), '{}') into v_held from (
    select l.shard from json_to_recordset(p_leases) as g (shard integer, epoch bigint)
    join shard_lease l on l.shard = g.shard and l.epoch = g.epoch
    where l.owner = p_owner and l.until > clock_timestamp()
    order by l.shard for share of l
  ) held;

  insert into delivery (lane_no, seq, attempts, attempted_at, duration_ms, response_status, response_body)
  select lane_no, seq, attempts, attempted_at, duration_ms, response_status, response_body
  from json_to_recordset(p_delivered) as d (shard integer, lane_no bigint, seq bigint, attempts integer,
    attempted_at timestamptz, duration_ms integer, response_status integer, response_body text)
  where d.shard = any (v_held) and d.seq >= v_floor
  on conflict do nothing;

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
      attempted_at = excluded.attempted_at, reason = excluded.reason, response_status = excluded.response_status;
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
    cursor = n.cursor, delivered = l.delivered + n.delivered, judged = n.judged, judged_epoch = n.judged_epoch,
    reason_code = n.reason_code, reason_since = n.reason_since, fail_count = n.fail_count,
    first_failed_at = n.first_failed_at, probe_count = n.probe_count, revived_at = n.revived_at,
    hold_until = n.hold_until, report_number = n.report_number, state = coalesce(n.state, l.state),
    matched = coalesce(n.matched, l.matched),
    ended_at = case when n.state is null then l.ended_at else clock_timestamp() end
  from json_to_recordset(p_lanes) as n (shard integer, lane_no bigint, cursor bigint, delivered bigint, judged text,
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
