-- As before, with one query for all locks: inside a function each query costs as much as the lock that it takes. `unnest` keeps their order.
create or replace function identity.share_unmoved(locks bigint[], org text, known bigint, until timestamptz) returns boolean language plpgsql volatile as $$
declare
  found_version bigint;
begin
  perform pg_advisory_xact_lock_shared(l) from unnest(locks) l;
  select v.version into found_version from identity.rights_version v where v.org_id = org;
  return coalesce(found_version, 0) = known and kernel.now() < until;
end
$$;
