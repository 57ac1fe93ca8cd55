-- A row while everything that leaves waits for the operator after a restore. The restore makes the table itself, in the transaction that
-- brings the rows: a backup of an older release does not have it.
create table if not exists kernel.restore_hold (
  one         boolean primary key default true check (one),
  restored_at timestamptz(3) not null,
  backup_at   timestamptz(3) not null
);
