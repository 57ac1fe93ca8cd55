-- What bearer tokens are signed with: one random key for the whole installation, so that each process knows what another issued.
create table signing_key (
  id         int primary key check (id = 1),
  sealed     bytea not null, -- sealed: registry.signing_key.sealed.1
  created_at timestamptz(3) not null
);

create index registry_key_by_rule on registry_key (rule_id) where rule_id is not null;
create index registry_key_by_end on registry_key (least(expires_at, revoked_at)) where expires_at is not null or revoked_at is not null;
