create table operator_read (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  operator text not null,
  route text not null,
  subscription_id text,
  request_id text not null
);

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'rows of % are never changed', tg_table_name using errcode = 'insufficient_privilege';
end
$$;

create trigger operator_read_is_append_only before update or delete or truncate on operator_read
  for each statement execute function refuse_change();
