-- Ends of monitors' alerts that arrived before their beginnings, which they overtook on the way: such a beginning must not fire any more.
create table early_end (
  org_id     text not null,
  service_id text not null,
  monitor_id text not null,
  starts_at  timestamptz(3) not null,
  heard_at   timestamptz(3) not null,
  primary key (org_id, service_id, monitor_id, starts_at)
);
