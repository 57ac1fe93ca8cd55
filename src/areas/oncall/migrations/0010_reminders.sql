-- How long after an acknowledgement its author is reminded of an incident that is not resolved, and then again; 0: never.
alter table policy add column remind_seconds int not null default 0;
create index incident_reminding on incident (next_at) where walk_state = 'acknowledged' and next_at is not null;
