-- What each registry held at the end of each day: the last figures that a task noted on it. Kept for 400 days.
create table usage_day (
  org_id      text not null,
  registry_id text not null references registry (id) on delete cascade,
  day         date not null, -- in UTC
  used_bytes  bigint not null,
  quota_bytes bigint not null,
  primary key (registry_id, day)
);
create index usage_day_by_day on usage_day (day);
