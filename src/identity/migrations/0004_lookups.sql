-- Every lookup costs what it finds, however much others store.
create unique index token_by_id on token (id);            -- lastRequest is written by id alone
create index token_by_end on token (expires_at);          -- what was over long ago is forgotten
create index role_grant_by_role on role_grant (org_id, role);
