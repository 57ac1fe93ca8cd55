import Type from 'typebox';
import type { Entitlement } from '../../contract/common.ts';
import { row, type Tx } from '../kernel/db.ts';
import { grantsOf, narrow, type RoleUse } from './grants.ts';
import { type Loaded, topics } from './principal.ts';

export const RoleUses = Type.Array(Type.Object({ role: Type.String(), resourceIds: Type.Array(Type.String()) }));

const PrincipalRow = Type.Object({
  token_id: Type.String(),
  enabled: Type.Boolean(),
  ttl_ms: Type.Number(),
  scope: RoleUses,
  ceilings: Type.Array(RoleUses),
  org_id: Type.String(),
  org_slug: Type.String(),
  entitlements: Type.Array(Type.String()),
  user_id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: Type.String(),
  grants: RoleUses,
  custom_roles: Type.Unsafe<Record<string, string[]>>({ type: 'object' }),
});

/** Everything a personal token's rights follow from, in one statement. */
export async function loadToken(tx: Tx, hash: Buffer): Promise<Loaded | undefined> {
  const found = await row(tx, PrincipalRow)`
    select t.id as token_id, t.enabled, t.scope, t.ceilings,
           (extract(epoch from t.expires_at - kernel.now()) * 1000)::float8 as ttl_ms,
           o.id as org_id, o.slug as org_slug, o.entitlements,
           u.id as user_id, u.email, u.name, m.role,
           coalesce((select jsonb_agg(jsonb_build_object('role', g.role, 'resourceIds', g.resource_ids))
                       from identity.role_grant g where g.org_id = t.org_id and g.user_id = t.user_id), '[]') as grants,
           coalesce((select jsonb_object_agg(r.id, r.permissions) from identity.custom_role r where r.org_id = t.org_id), '{}') as custom_roles
      from identity.token t
      join identity.org o on o.id = t.org_id
      join identity.account u on u.id = t.user_id
      join identity.member m on m.org_id = t.org_id and m.user_id = t.user_id
     where t.hash = ${hash}`;
  if (!found) return undefined;

  const dropOn = [topics.org(found.org_id), topics.user(found.org_id, found.user_id), topics.credential(found.token_id)];
  if (!found.enabled) return { principal: undefined, ttlMs: 0, topics: dropOn };

  const owner = grantsOf([{ role: found.role, resourceIds: [] }, ...found.grants], found.custom_roles);
  const scopes: RoleUse[][] = [found.scope, ...found.ceilings].filter((s) => s.length);
  return {
    ttlMs: found.ttl_ms,
    topics: dropOn,
    principal: {
      id: found.token_id,
      org: { id: found.org_id, slug: found.org_slug },
      entitlements: new Set(found.entitlements as Entitlement[]),
      user: { id: found.user_id, email: found.email, name: found.name },
      grants: narrow(owner, scopes, found.custom_roles),
      scopes,
      customRoles: found.custom_roles,
    },
  };
}
