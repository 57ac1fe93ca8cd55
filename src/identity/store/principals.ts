import Type, { type Static } from 'typebox';
import { row, type Tx } from '../../kernel/db/index.ts';
import { type Sql, sql } from '../../kernel/sql.ts';

export const RoleUses = Type.Array(Type.Object({ role: Type.String(), resourceIds: Type.Array(Type.String()) }));

const Atoms = Type.Unsafe<Record<string, string[]>>({ type: 'object' });

/** Grants of a member besides the role in the organization, and the permissions of all custom roles. */
export const given = (org: Sql, user: Sql) => sql`
  coalesce((select jsonb_agg(jsonb_build_object('role', g.role, 'resourceIds', g.resource_ids))
              from identity.role_grant g where g.org_id = ${org} and g.user_id = ${user}), '[]') as grants,
  coalesce((select jsonb_object_agg(r.id, r.permissions) from identity.custom_role r where r.org_id = ${org}), '{}') as custom_roles`;

const RightsRow = Type.Object({ role: Type.String(), grants: RoleUses, custom_roles: Atoms });

/** What a member's rights are computed from. */
export const findRights = (tx: Tx, org: string, user: string) => row(tx, RightsRow)`
  select m.role, ${given(sql`m.org_id`, sql`m.user_id`)}
    from identity.member m where m.org_id = ${org} and m.user_id = ${user}`;

const PrincipalRow = Type.Object({
  token_id: Type.String(),
  enabled: Type.Boolean(),
  ttl_ms: Type.Number(),
  ends_at: Type.String(),
  scope: RoleUses,
  ceilings: Type.Array(RoleUses),
  minters: Type.Array(Type.String()),
  above: Type.Array(Type.Array(RoleUses)),
  org_id: Type.String(),
  org_slug: Type.String(),
  entitlements: Type.Array(Type.String()),
  requires_second_factor: Type.Boolean(),
  user_id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: Type.String(),
  grants: RoleUses,
  custom_roles: Atoms,
  version: Type.Integer(),
});
/**
 * `above`: the scopes of each minter. `ttl_ms`: until the first token of the lineage expires. `version`: grows when the organization takes
 * rights away.
 */
export type PrincipalRow = Static<typeof PrincipalRow>;

export const principalByHash = (tx: Tx, hash: Buffer) => findPrincipal(tx, sql`t.hash = ${hash}`);

export const principalByToken = (tx: Tx, org: string, id: string) => findPrincipal(tx, sql`t.org_id = ${org} and t.id = ${id}`);

/** Everything that a personal token's rights are computed from, its minters included, in one statement. */
const findPrincipal = (tx: Tx, which: Sql): Promise<PrincipalRow | undefined> => row(tx, PrincipalRow)`
  select t.id as token_id, t.enabled and line.whole as enabled, t.scope, t.ceilings, t.minters, line.above,
         (extract(epoch from least(t.expires_at, line.ends_at) - kernel.now()) * 1000)::float8 as ttl_ms,
         least(t.expires_at, line.ends_at) as ends_at, o.id as org_id, o.slug as org_slug, o.entitlements, o.requires_second_factor,
         u.id as user_id, u.email, u.name, m.role, ${given(sql`t.org_id`, sql`t.user_id`)},
         coalesce((select v.version from identity.rights_version v where v.org_id = t.org_id), 0)::float8 as version
    from identity.token t
    join identity.org o on o.id = t.org_id
    join identity.account u on u.id = t.user_id
    join identity.member m on m.org_id = t.org_id and m.user_id = t.user_id
    cross join lateral (
      select count(*) = cardinality(t.minters) and coalesce(bool_and(a.enabled), true) as whole, min(a.expires_at) as ends_at,
             coalesce(jsonb_agg(jsonb_build_array(a.scope) || a.ceilings), '[]') as above
        from identity.token a where a.org_id = t.org_id and a.id = any(t.minters)) line
   where ${which}`;

const UnmovedRow = Type.Object({ unmoved: Type.Boolean() });

/** Takes shared locks, then tells whether the organization took no rights away since this version, and this principal has not expired. */
export const shareUnmoved = async (
  tx: Tx,
  p: Pick<PrincipalRow, 'org_id' | 'version' | 'ends_at'>,
  locks: readonly string[],
): Promise<boolean> =>
  (await row(tx, UnmovedRow)`
    select identity.share_unmoved(${locks}::bigint[], ${p.org_id}, ${p.version}, ${p.ends_at}::timestamptz) as unmoved`)!.unmoved;
