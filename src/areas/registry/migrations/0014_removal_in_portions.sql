-- A repository that is removed loses its registry at once and its content in portions; its row goes last. Without a registry no list and no
-- name finds it, also for servers of the release before, and its name is free. Null: it is not being removed.
alter table repository alter column registry_id drop not null, add column removed_from text;
create index repository_removed on repository (org_id collate "C", id) where removed_from is not null;
create index repository_removed_from on repository (removed_from) where removed_from is not null;
create index upload_by_repository on upload (repository_id);

-- A registry's keys and logins go in portions as well: they open nothing once the registry is gone.
alter table registry_key drop constraint registry_key_registry_id_fkey;
alter table login_scope drop constraint login_scope_registry_id_fkey;
create index login_scope_by_registry on login_scope (registry_id);
