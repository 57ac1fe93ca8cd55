-- What was pushed at a time, to any repository of an organization: told beside its incidents.
create index manifest_by_time on manifest (org_id, created_at) where not cached and subject is null;
