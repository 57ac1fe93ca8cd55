-- Shares the rights locks of a batch without waiting, then tells whether every key and every organization may still send. Inside a volatile function
-- each query has a snapshot of its own, so both are read once the locks are held, also within a longer statement. Keys and organizations are given once.
create function email.share_live_keys(locks bigint[], keys text[], orgs text[]) returns boolean language plpgsql volatile as $$
begin
  if exists (select from unnest(locks) l where not pg_try_advisory_xact_lock_shared(l)) then
    return false;
  end if;
  return (select count(*) from email.send_key k where k.id = any(keys) and k.revoked_at is null) = cardinality(keys)
     and (select count(*) from identity.org o where o.id = any(orgs) and 'email' = any(o.entitlements)) = cardinality(orgs);
end
$$;
