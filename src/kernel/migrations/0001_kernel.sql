-- Time has one source. The offset is zero in production; tests move it.
create table clock (
  one          boolean primary key default true check (one),
  clock_offset interval not null default '0'
);
insert into clock default values;

create function now() returns timestamptz(3) language sql stable parallel safe
  as $$ select (clock_timestamp() + (select clock_offset from kernel.clock))::timestamptz(3) $$;

-- `tok_01J…`: a type and a ULID (48 bits of time, 79 random ones), so that id order is time order by the same clock.
create function new_id(type text) returns text language sql volatile parallel safe as $$
  with part as (select (extract(epoch from kernel.now()) * 1000)::bigint as ms, decode(replace(gen_random_uuid()::text, '-', ''), 'hex') as random)
  select type || '_' || string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + case when i < 10 then (ms >> (5 * (9 - i))) & 31 else get_byte(random, i - 10) & 31 end::int, 1), '' order by i)
    from part, generate_series(0, 25) i
$$;

-- Who did what. Written in the transaction of the change, never changed afterwards.
create table audit (
  id          text primary key,
  org_id      text not null,
  at          timestamptz(3) not null,
  actor       text not null,
  actor_label text not null,
  token_id    text,
  action      text not null,
  target      text not null,
  request_id  text,
  detail      jsonb not null
);
create index audit_by_org on audit (org_id, id desc);

-- The first answer to a POST that carried an Idempotency-Key, kept in the transaction that gave it.
create table idempotency (
  principal  text not null,
  route      text not null,
  key        text not null,
  body_hash  bytea not null,
  status     int,
  answer     jsonb,
  made       text,
  created_at timestamptz(3) not null,
  primary key (principal, route, key)
);
create index idempotency_by_age on idempotency (created_at);

-- Tells at start whether the key file on disk belongs to this database.
create table canary (
  one    boolean primary key default true check (one),
  sealed bytea not null
);
