-- Tells at start whether a storage belongs to this database: the same id is an object in it, once `is_written`.
create table storage_canary (
  one        boolean primary key default true check (one),
  id         text not null,
  is_written boolean not null default false
);

-- The keys that seal, by their ids. A key is here before its first value, and until it is dropped.
create table sealing_key (
  id       text primary key,
  since_at timestamptz(3) not null
);

-- What each server process said of itself. A row counts while the process listens; others were left by a crash.
create table server (
  process    text primary key,
  node       text not null,
  host       text not null,
  key_ids    text[] not null,
  changed_at timestamptz(3) not null
);
