-- What an image is with its layers, and an index with all that it leads to: counted when it is pushed, so that lists only read it.
-- Null: not counted yet, because it is from before this, or because something that it lists came or went since. A task counts those.
alter table manifest add column content_bytes bigint;
create index manifest_uncounted on manifest (id) where content_bytes is null;

-- What goes with an image that was purged, beyond what one transaction takes: garbage collection asks again whether anything keeps it.
create table doomed_manifest (
  repository_id bigint not null references repository on delete cascade,
  digest        text collate "C" not null,
  -- As the purge has said of the layers that it leaves behind.
  delay_seconds int not null,
  grace_seconds int,
  primary key (repository_id, digest)
);
