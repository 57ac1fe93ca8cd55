-- The personal token that minted a login: the login ends with it, and never exceeds it. Null for keys, which are the organization's,
-- and for logins from before this, which are over within the hour.
alter table registry_key add column minted_by text;
