import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../kernel/db/index.ts';
import { type Sql, sql } from '../../kernel/sql.ts';
import { RoleUses } from './tokens.ts';

const Atoms = Type.Unsafe<Record<string, string[]>>({ type: 'object' });

/** Everything given to a member besides their place in the organization, and the atoms of every custom role there is. */
const given = (org: Sql, user: Sql) => sql`
  coalesce((select jsonb_agg(jsonb_build_object('role', g.role, 'resourceIds', g.resource_ids) order by g.id)
              from identity.role_grant g where g.org_id = ${org} and g.user_id = ${user}), '[]') as grants,
  coalesce((select jsonb_object_agg(r.id, r.permissions) from identity.custom_role r where r.org_id = ${org}), '{}') as custom_roles`;

const RightsRow = Type.Object({ role: Type.String(), grants: RoleUses, custom_roles: Atoms });

/** What a member's rights follow from. */
export const findRights = (tx: Tx, org: string, user: string) => row(tx, RightsRow)`
  select m.role, ${given(sql`m.org_id`, sql`m.user_id`)}
    from identity.member m where m.org_id = ${org} and m.user_id = ${user}`;

const PrincipalRow = Type.Object({
  token_id: Type.String(),
  hash: Type.Unsafe<Buffer>({}),
  enabled: Type.Boolean(),
  ends_at: Type.String(),
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
  custom_roles: Atoms,
  ttl_ms: Type.Number(),
  fingerprint: Type.Unsafe<Buffer>({}),
});
/** `above`: what each of the minters is narrowed to. `ends_at`: when the first of the line does. `fingerprint`: of all that but `ttl_ms`. */
export type PrincipalRow = Static<typeof PrincipalRow>;

export const principalByHash = (tx: Tx, hash: Buffer) => findPrincipal(tx, sql`t.hash = ${hash}`);

export const principalByToken = (tx: Tx, org: string, id: string) => findPrincipal(tx, byId(org, id));

const byId = (org: string, id: string) => sql`t.org_id = ${org} and t.id = ${id}`;

/** Everything a personal token's rights follow from, those of the tokens that it was minted by included, in one statement. */
const rightsOf = (which: Sql) => sql`
  select t.id as token_id, t.hash, t.enabled and line.whole as enabled, least(t.expires_at, line.ends_at) as ends_at,
         t.scope, t.ceilings, t.minters, line.above, o.id as org_id, o.slug as org_slug, o.entitlements,
         u.id as user_id, u.email, u.name, m.role, ${given(sql`t.org_id`, sql`t.user_id`)}
    from identity.token t
    join identity.org o on o.id = t.org_id
    join identity.account u on u.id = t.user_id
    join identity.member m on m.org_id = t.org_id and m.user_id = t.user_id
    cross join lateral (
      select count(*) = cardinality(t.minters) and coalesce(bool_and(a.enabled), true) as whole, min(a.expires_at) as ends_at,
             coalesce(jsonb_agg(jsonb_build_array(a.scope) || a.ceilings order by a.id), '[]') as above
        from identity.token a where a.org_id = t.org_id and a.id = any(t.minters)) line
   where ${which}`;

const fingerprint = sql`sha256(convert_to(r::text, 'UTF8'))`;

const findPrincipal = (tx: Tx, which: Sql): Promise<PrincipalRow | undefined> => row(tx, PrincipalRow)`
  select r.*, (extract(epoch from r.ends_at - kernel.now()) * 1000)::float8 as ttl_ms, ${fingerprint} as fingerprint
    from (${rightsOf(which)}) r`;

/** Whether a token is alive, and its rights are what they were when the fingerprint was read: cheaper than to read and narrow them anew. */
export const isUnchanged = async (tx: Tx, org: string, id: string, known: Buffer): Promise<boolean> =>
  (await run(tx)`select from (${rightsOf(byId(org, id))}) r where r.enabled and r.ends_at > kernel.now() and ${fingerprint} = ${known}`) >
  0;
