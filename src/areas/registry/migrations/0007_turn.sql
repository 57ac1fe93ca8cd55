-- The order of pushes and purges: what came later has the larger number. A purge goes on in portions, and what was pushed after it stays.
create sequence turn;
-- Of the last push, also of what is here already. Null: from before this.
alter table manifest add column pushed_turn bigint;
-- Whose it is, so that organizations take turns ('': from before this), and when the purge was (0: from before this).
alter table doomed_manifest add column org_id text collate "C" not null default '', add column turn bigint not null default 0;
create index doomed_manifest_next on doomed_manifest (org_id, repository_id, turn, digest);
