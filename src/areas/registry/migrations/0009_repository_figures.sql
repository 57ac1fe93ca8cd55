-- What a repository holds, so that lists only read it: bytes of its manifests and of the blobs that it links, and how many tags it has.
-- Null: not counted yet, because it is from before this. A task counts those, one in a transaction.
alter table repository add column size_bytes bigint, add column tag_count int;
create index repository_uncounted on repository (id) where size_bytes is null;
-- What pushes and deletions change about it. Rows are only added here, so that nobody waits for anybody's repository; a task adds them up.
create table repository_change (
  id            bigint generated always as identity primary key,
  repository_id bigint not null,
  bytes         bigint not null,
  tags          int not null
);
create index repository_change_by_repository on repository_change (repository_id) include (bytes, tags);
-- Whose an entry is, so that organizations take turns ('': from before this, or nobody's).
alter table gc_queue add column org_id text collate "C" not null default '';
create index gc_queue_by_org on gc_queue (org_id, review_after);
