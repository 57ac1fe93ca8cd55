-- The addresses by which calendars subscribe to a schedule. What makes one is told once; here is its hash.
create table calendar_link (
  org_id      text not null,
  id          text not null,
  schedule_id text not null,
  name        text not null,
  hash        bytea not null unique,
  created_at  timestamptz(3) not null,
  primary key (org_id, id),
  foreign key (org_id, schedule_id) references schedule on delete cascade
);
create index calendar_link_by_schedule on calendar_link (org_id, schedule_id, id desc);
