-- Monitors are found by the beginning of their name, however many there are.
create index monitor_by_name on monitor (org_id, lower(name)) where deleted_at is null;
