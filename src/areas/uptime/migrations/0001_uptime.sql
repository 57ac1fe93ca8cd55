-- Monitors, what the probes saw, and what follows from it.

-- A place that checks are made from. `local` is made by every server that probes; the others come with an agent.
create table vantage (
  no         smallint generated always as identity unique, -- stands in rows of which there are millions
  id         text primary key,
  label      text not null,
  created_at timestamptz(3) not null
);

-- A credential of an agent elsewhere. The local prober has none: it speaks through a socket that only its server can open.
create table agent (
  id         text primary key,
  vantage    text not null references vantage (id),
  name       text not null,
  hash       bytea not null unique,
  created_at timestamptz(3) not null,
  revoked_at timestamptz(3)
);

-- One running prober with its buffer. Batches have numbers that only grow, so that one sent twice is stored once.
create table instance (
  id           uuid primary key,
  vantage      text not null references vantage (id),
  agent_id     text references agent (id), -- null: a server's own
  version      text not null,
  last_seq     bigint not null default 0,
  -- Its clock against ours. Only told: results carry ages, not times.
  skew_ms      bigint not null default 0,
  -- It takes itself for the culprit: what it sees fail does not count.
  degraded     boolean not null default false,
  -- Not a prober but a server that starts one when there is something to probe: shows that the vantage is available, shares nothing.
  standby      boolean not null default false,
  connected_at timestamptz(3) not null,
  seen_at      timestamptz(3) not null
);
create index instance_by_vantage on instance (vantage, seen_at);

-- Revisions are handed out under a lock that is held until commit: whoever has seen one has seen all below it.
create sequence revision;

create table monitor (
  org_id           text not null,
  id               text not null,
  no               bigint generated always as identity unique,
  name             text not null,
  service_id       text,
  enabled          boolean not null,
  kind             text not null check (kind in ('http', 'tcp')),
  target           jsonb not null, -- the `http` or `tcp` object, defaults written out
  interval_seconds int not null,
  timeout_ms       int not null,
  vantages         text[] not null,
  confirmations    int not null,
  quorum           int not null,
  -- Grows with everything that probers must know of.
  revision         bigint not null,
  -- Grows when the state starts over (another target, timeout or vantages, or enabled again): results of an earlier one are history only.
  epoch            int not null default 1,
  created_at       timestamptz(3) not null,
  updated_at       timestamptz(3) not null,
  deleted_at       timestamptz(3),
  primary key (org_id, id),
  unique (id)
);
create unique index monitor_by_revision on monitor (revision);
create index monitor_by_service on monitor (org_id, service_id) where deleted_at is null;

-- The hot row of a monitor: locked for every verdict, so two vantages cannot both take it down.
create table monitor_state (
  org_id           text not null,
  monitor_id       text primary key references monitor (id),
  state            text not null check (state in ('pending', 'up', 'down')),
  since            timestamptz(3) not null,
  -- When watching began: of this epoch, or after nobody had reported for long. For the first interval from then on a vantage
  -- without a fresh result counts as one that may still fail.
  began_at         timestamptz(3) not null,
  -- The first failure of the streak that took it down.
  failing_since    timestamptz(3),
  flapping         boolean not null default false,
  -- The alert that on-call has from us, and for which service; null: none fires.
  alert_since      timestamptz(3),
  alert_service_id text,
  -- The start of the newest alert that on-call was ever given: a second one for the same outage needs another start to be news.
  told_since       timestamptz(3)
) with (fillfactor = 70);

-- What one vantage thinks, and its newest result for those who scrape.
create table vantage_state (
  org_id        text not null,
  monitor_id    text not null references monitor (id),
  vantage       text not null references vantage (id),
  fail_streak   int not null default 0,
  pass_streak   int not null default 0,
  verdict       text not null default 'unknown' check (verdict in ('unknown', 'passing', 'failing')),
  failing_since timestamptz(3), -- the first failure of the streak
  last_at       timestamptz(3), -- of the newest result that counted
  latest        jsonb,          -- the newest result, as the prober told it
  latest_at     timestamptz(3),
  -- Since the monitor was made, for counters that scrapers expect never to fall.
  passed        bigint not null default 0,
  failed        bigint not null default 0,
  errors        bigint not null default 0,
  missed        bigint not null default 0,
  latency_sum   double precision not null default 0, -- seconds, of every check that was made
  latency_hist  bigint[] not null,                   -- checks at or below each bound of rules/latency.ts, not cumulative
  primary key (monitor_id, vantage)
) with (fillfactor = 70);

-- These two refer to monitors without a foreign key: its check would lock the monitor's row, which whoever edits the monitor
-- holds while waiting for the state that the writer of these holds.
create table transition (
  org_id           text not null,
  id               text not null,
  monitor_id       text not null,
  at               timestamptz(3) not null,
  from_state       text not null,
  to_state         text not null,
  failing_vantages text[] not null,
  -- When what it says began: for down, the first failure of the streak. Availability counts from here.
  since            timestamptz(3) not null,
  primary key (org_id, id)
);
create index transition_by_monitor on transition (monitor_id, at desc, id desc);

create table failure (
  org_id           text not null,
  id               text not null,
  monitor_id       text not null,
  at               timestamptz(3) not null,
  vantage          text not null,
  attempt          int not null,
  outcome          text not null check (outcome in ('fail', 'error')),
  error_kind       text not null,
  error_detail     text not null,
  response_snippet text not null,
  primary key (org_id, id)
);
create index failure_by_monitor on failure (monitor_id, at desc, id desc);

-- Every check, for 8 days; a partition a day, made ahead and dropped whole.
create table check_result (
  at         timestamptz(3) not null,
  monitor_no bigint not null,
  vantage_no smallint not null,
  outcome    smallint not null, -- 0 pass, 1 fail, 2 error, 3 missed
  excluded   boolean not null default false, -- during maintenance: shown, but no part of an uptime figure
  latency    real,              -- milliseconds, as the phases
  resolve    real,
  connect    real,
  tls        real,
  first_byte real,
  transfer   real,
  status     smallint
) partition by range (at);
create index check_result_by_monitor on check_result (monitor_no, at);

-- The same in steps of five minutes, written in the statement that writes the checks; for 35 days, a partition a week.
create table check_rollup (
  bucket     timestamptz(0) not null,
  monitor_no bigint not null,
  vantage_no smallint not null,
  n          int not null,   -- checks that were made and count
  ok         int not null,
  missed     int not null,
  excluded   int not null,
  ok_ms      double precision not null, -- summed latency of the passing
  bad_ms     double precision not null, -- and of the failing
  primary key (monitor_no, bucket, vantage_no)
) partition by range (bucket);

create table export_token (
  org_id       text not null,
  id           text not null,
  name         text not null,
  hash         bytea not null unique,
  created_at   timestamptz(3) not null,
  last_used_at timestamptz(3),
  revoked_at   timestamptz(3),
  primary key (org_id, id)
);

-- Planned work on a service: nobody is paged for it, and it is no part of an uptime figure.
create table maintenance (
  org_id     text not null,
  id         text not null,
  service_id text not null,
  title      text not null,
  starts_at  timestamptz(3) not null,
  ends_at    timestamptz(3) not null check (ends_at > starts_at),
  created_at timestamptz(3) not null,
  primary key (org_id, id)
);
create index maintenance_by_service on maintenance (org_id, service_id, ends_at);

-- Makes the partitions that hold these times. Attaching, unlike `partition of`, does not wait for those who write meanwhile.
create function make_partitions(first timestamptz, last timestamptz) returns void language plpgsql as $$
declare
  wanted record;
begin
  for wanted in
    select 'check_result' as parent, 'check_result_' || to_char(d, 'YYYY_MM_DD') as name, d as lower, d + interval '1 day' as upper
      from generate_series(date_trunc('day', first, 'UTC'), last, interval '1 day') d
    union all
    select 'check_rollup', 'check_rollup_' || to_char(d, 'YYYY_MM_DD'), d, d + interval '7 days'
      from generate_series(date_trunc('week', first, 'UTC'), last, interval '7 days') d
  loop
    continue when to_regclass('uptime.' || wanted.name) is not null;
    perform pg_advisory_xact_lock(hashtext('uptime.partitions'));
    -- Somebody else may have made it while we waited. A query sees that; to_regclass goes by what this session remembers.
    continue when exists (select from pg_class c where c.relname = wanted.name and c.relnamespace = 'uptime'::regnamespace);
    execute format('create table uptime.%I (like uptime.%I including defaults including constraints)', wanted.name, wanted.parent);
    execute format('alter table uptime.%I attach partition uptime.%I for values from (%L) to (%L)', wanted.parent, wanted.name, wanted.lower, wanted.upper);
  end loop;
end
$$ set timezone = 'UTC';

select make_partitions(kernel.now() - interval '1 day', kernel.now() + interval '2 days');

insert into vantage (id, label, created_at) values ('local', 'This server', kernel.now());
