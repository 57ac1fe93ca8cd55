-- One durable unit of work: inserted in the transaction that caused it, deleted when it is done, kept 30 days when it is dead.
create table job (
  id          bigint generated always as identity primary key,
  lane        text not null,
  kind        text not null,
  key         text not null,
  payload     jsonb,
  org_id      text,
  request_id  text,
  run_at      timestamptz(3) not null,
  attempts    int not null default 0,
  -- Who holds it, and until when: a claim writes a fresh uuid, and every later word about the job must name it.
  lease       uuid,
  lease_until timestamptz(3),
  -- Asked to run again while it was running: it then goes back to waiting instead of being deleted.
  again_at    timestamptz(3),
  last_error  text,
  created_at  timestamptz(3) not null,
  dead_at     timestamptz(3)
) with (
  -- A claim and a renewal change no indexed column; with room on the page they are HOT updates, which leave every index alone.
  fillfactor = 50,
  -- Rows live for milliseconds, so the dead ones outnumber the live: clean by count, not by share, and without pausing.
  autovacuum_vacuum_scale_factor = 0.01,
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_cost_delay = 0,
  autovacuum_analyze_scale_factor = 0.1,
  autovacuum_analyze_threshold = 5000
);

-- A dead job does not stand in the way of a new one with its key.
create unique index job_unfinished on job (kind, key) where dead_at is null;
-- Claims walk it from the oldest due one and stop at now, so what waits for later costs nothing. `id` lets a claim go on where
-- the last one ended; `kind` is in it so that kinds which a worker does not know are stepped over without visiting the table.
create index job_due on job (lane, run_at, id, kind) where dead_at is null;
create index job_dead on job (dead_at) where dead_at is not null;

-- One row a task, made by the first worker that knows it.
create table task (
  name        text primary key,
  next_at     timestamptz(3) not null,
  lease       uuid,
  lease_until timestamptz(3),
  started_at  timestamptz(3),
  last_ok     timestamptz(3),
  last_error  text,
  failures    int not null default 0
) with (fillfactor = 50);
