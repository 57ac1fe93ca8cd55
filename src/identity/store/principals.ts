import Type from 'typebox';
import type { Entitlement } from '../../../contract/common.ts';
import { row, type Tx } from '../../kernel/db.ts';
import { type Sql, sql } from '../../kernel/sql.ts';
import { grantsOf, narrow, type RoleUse } from '../rules/grants.ts';
import { type Loaded, topics } from '../principal.ts';

export const RoleUses = Type.Array(Type.Object({ role: Type.String(), resourceIds: Type.Array(Type.String()) }));

const PrincipalRow = Type.Object({
  token_id: Type.String(),
  enabled: Type.Boolean(),
  ttl_ms: Type.Number(),
  scope: RoleUses,
  ceilings: Type.Array(RoleUses),
  minters: Type.Array(Type.String()),
  above: Type.Array(Type.Array(RoleUses)),
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

export const loadToken = (tx: Tx, hash: Buffer): Promise<Loaded | undefined> => load(tx, sql`t.hash = ${hash}`);

/** For what a token minted, and which never exceeds it. Undefined: revoked. */
export const loadTokenById = (tx: Tx, org: string, id: string): Promise<Loaded | undefined> =>
  load(tx, sql`t.org_id = ${org} and t.id = ${id}`);

/** Everything a personal token's rights follow from, those of the tokens that it was minted by included, in one statement. */
async function load(tx: Tx, which: Sql): Promise<Loaded | undefined> {
  const found = await row(tx, PrincipalRow)`
    select t.id as token_id, t.enabled and line.whole as enabled, t.scope, t.ceilings, t.minters, line.above,
           (extract(epoch from least(t.expires_at, line.ends_at) - kernel.now()) * 1000)::float8 as ttl_ms,
           o.id as org_id, o.slug as org_slug, o.entitlements,
           u.id as user_id, u.email, u.name, m.role,
           coalesce((select jsonb_agg(jsonb_build_object('role', g.role, 'resourceIds', g.resource_ids))
                       from identity.role_grant g where g.org_id = t.org_id and g.user_id = t.user_id), '[]') as grants,
           coalesce((select jsonb_object_agg(r.id, r.permissions) from identity.custom_role r where r.org_id = t.org_id), '{}') as custom_roles
      from identity.token t
      join identity.org o on o.id = t.org_id
      join identity.account u on u.id = t.user_id
      join identity.member m on m.org_id = t.org_id and m.user_id = t.user_id
      cross join lateral (
        select count(*) = cardinality(t.minters) and coalesce(bool_and(a.enabled), true) as whole, min(a.expires_at) as ends_at,
               coalesce(jsonb_agg(jsonb_build_array(a.scope) || a.ceilings), '[]') as above
          from identity.token a where a.org_id = t.org_id and a.id = any(t.minters)) line
     where ${which}`;
  if (!found) return undefined;

  const dropOn = [
    topics.org(found.org_id),
    topics.user(found.org_id, found.user_id),
    ...[found.token_id, ...found.minters].map(topics.credential),
  ];
  if (!found.enabled) return { principal: undefined, ttlMs: 0, topics: dropOn };

  const owner = grantsOf([{ role: found.role, resourceIds: [] }, ...found.grants], found.custom_roles);
  const scopes = distinct([found.scope, ...found.ceilings, ...found.above.flat()].filter((s) => s.length));
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

/** A line repeats itself: what a token was minted within is mostly what its minter was narrowed to. */
const distinct = (scopes: RoleUse[][]): RoleUse[][] => [...new Map(scopes.map((s) => [JSON.stringify(s), s])).values()];
