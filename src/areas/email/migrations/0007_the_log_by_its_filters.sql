-- The log is read by organization, domain, state and direction, in any combination: every row is found by one of these two, newest first,
-- and nobody looks at a row that a filter leaves out.
create index message_by_state_and_direction on message (org_id, state, direction, id);
create index message_by_domain_and_state on message (org_id, domain_id, state, direction, id);
drop index message_by_state;
drop index message_received;
drop index message_by_domain;
drop index message_by_org;
