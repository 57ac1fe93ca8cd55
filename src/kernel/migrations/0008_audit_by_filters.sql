-- The audit log by what people look for: one target, one actor, or a kind of action. `C`: the order of prefixes, whatever the database sorts by.
create index audit_by_target on audit (org_id, target, id desc);
create index audit_by_actor on audit (org_id, actor, id desc);
create index audit_by_action on audit (org_id, action collate "C", id desc);
