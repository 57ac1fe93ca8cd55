-- Moves with everything that may take rights away in an organization, whoever changes it: while it stands still, rights that were read
-- before still hold, and one row tells so. No row: nothing has changed yet.
create table identity.rights_version (
  org_id  text primary key references identity.org on delete cascade,
  version bigint not null
);

create function identity.move_rights_version() returns trigger language plpgsql as $$
begin
  insert into identity.rights_version as v (org_id, version) values (new.org_id, 1)
      on conflict (org_id) do update set version = v.version + 1;
  return null;
end
$$;

create function identity.move_rights_version_of_org() returns trigger language plpgsql as $$
begin
  insert into identity.rights_version as v (org_id, version) values (new.id, 1)
      on conflict (org_id) do update set version = v.version + 1;
  return null;
end
$$;

-- Of many rows at once, such as the tokens that go with a member, each organization moves once. One that is deleted itself has no row any more.
create function identity.move_rights_version_of_gone() returns trigger language plpgsql as $$
begin
  insert into identity.rights_version as v (org_id, version)
  select distinct g.org_id, 1 from gone g where exists (select from identity.org o where o.id = g.org_id) order by 1
      on conflict (org_id) do update set version = v.version + 1;
  return null;
end
$$;

create trigger moves_rights after update of hash, enabled, expires_at, scope, ceilings, minters on identity.token
  for each row execute function identity.move_rights_version();
create trigger moves_rights after update of role on identity.member for each row execute function identity.move_rights_version();
create trigger moves_rights after insert or update on identity.role_grant for each row execute function identity.move_rights_version();
create trigger moves_rights after update of permissions on identity.custom_role for each row execute function identity.move_rights_version();
create trigger moves_rights after update of entitlements on identity.org for each row execute function identity.move_rights_version_of_org();

create trigger ends_rights after delete on identity.token referencing old table as gone
  for each statement execute function identity.move_rights_version_of_gone();
create trigger ends_rights after delete on identity.member referencing old table as gone
  for each statement execute function identity.move_rights_version_of_gone();
create trigger ends_rights after delete on identity.role_grant referencing old table as gone
  for each statement execute function identity.move_rights_version_of_gone();
create trigger ends_rights after delete on identity.custom_role referencing old table as gone
  for each statement execute function identity.move_rights_version_of_gone();

-- Shares advisory locks in the order given, then tells whether the version still is the known one. Inside a volatile function each query
-- has a snapshot of its own, so it is read once the locks are held.
create function identity.share_unmoved(locks bigint[], org text, known bigint, until timestamptz) returns boolean language plpgsql volatile as $$
declare
  each bigint;
  found_version bigint;
begin
  foreach each in array locks loop
    perform pg_advisory_xact_lock_shared(each);
  end loop;
  select v.version into found_version from identity.rights_version v where v.org_id = org;
  return coalesce(found_version, 0) = known and kernel.now() < until;
end
$$;

-- Compared a fingerprint of all rights with every write, which cost too much; no release called them.
drop function identity.share_rights(bigint[], text, text, text, timestamptz);
drop function identity.rights_fingerprint(text, text);
