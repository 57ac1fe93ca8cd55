-- Keys are counted before one more is made, and logins are forgotten in portions: each of these reads the rows that it is about.
create index registry_key_by_hand on registry_key (registry_id, key_id) where minted_via = 'manual' and revoked_at is null;
create index registry_key_of_jobs on registry_key (registry_id, expires_at) where minted_via = 'oidc';
create index registry_login_by_end on registry_key (least(expires_at, revoked_at)) where minted_via = 'login';
