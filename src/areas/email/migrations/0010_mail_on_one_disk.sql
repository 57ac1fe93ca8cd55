-- Data directories on which bytes of mail lie that no other machine reads, and when a server last ran on each.
create table holder (
  node    text primary key,
  seen_at timestamptz(3) not null
);
-- What waits on a data directory whose servers are away, by organization; counted by a task.
create table held_away (
  node       text not null,
  org_id     text not null,
  recipients bigint not null,
  arrivals   bigint not null,
  oldest_at  timestamptz(3) not null,
  primary key (node, org_id)
);
-- Segments that one machine alone reads.
create index segment_unstored on segment (node, created_at) where stored_at is null;
