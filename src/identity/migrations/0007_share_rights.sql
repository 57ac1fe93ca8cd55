-- What a token's rights follow from, as one text: two equal ones mean equal rights. Empty: there is no such token, or no such member.
create function identity.rights_fingerprint(org text, token text) returns text language sql stable as $$
  select row(t.hash, t.enabled, t.expires_at, t.scope, t.ceilings, t.minters, o.entitlements, m.role,
             (select string_agg(row(g.role, g.resource_ids)::text, ',' order by g.id) from identity.role_grant g
               where g.org_id = t.org_id and g.user_id = t.user_id),
             (select string_agg(row(r.id, r.permissions)::text, ',' order by r.id) from identity.custom_role r where r.org_id = t.org_id),
             case when t.minters <> '{}' then
               (select string_agg(row(a.id, a.enabled, a.expires_at, a.scope, a.ceilings)::text, ',' order by a.id) from identity.token a
                 where a.org_id = t.org_id and a.id = any(t.minters)) end)::text
    from identity.token t
    join identity.org o on o.id = t.org_id
    join identity.member m on m.org_id = t.org_id and m.user_id = t.user_id
   where t.org_id = $1 and t.id = $2
$$;

-- Shares advisory locks in the order given, then tells whether the rights are still those of a fingerprint, and not over. One statement for both: inside a
-- volatile function each query has a snapshot of its own, so the rights are read once the locks are held.
create function identity.share_rights(locks bigint[], org text, token text, known text, until timestamptz) returns boolean language plpgsql volatile as $$
declare
  each bigint;
begin
  foreach each in array locks loop
    perform pg_advisory_xact_lock_shared(each);
  end loop;
  return identity.rights_fingerprint(org, token) = known and kernel.now() < until;
end
$$;
