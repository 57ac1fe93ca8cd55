-- Whose room an upload that somebody pushes takes, to count how many a registry has open. Null: the cache's, or from before this.
alter table upload add column registry_id text;
create index upload_by_registry on upload (registry_id) where registry_id is not null;
