-- What on-call has yet to be told of monitors: written in the transaction that decides it, told and deleted by a job of its own, for each
-- monitor in the order of `no`. Without a foreign key, for the reason given at `transition`.
create table telling (
  org_id     text not null,
  monitor_id text not null,
  no         bigint not null generated always as identity,
  -- As on-call takes it; see MonitorAlert.
  alert      jsonb not null,
  created_at timestamptz(3) not null,
  primary key (org_id, monitor_id, no)
);
