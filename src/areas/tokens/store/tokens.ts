import Type, { type Static } from 'typebox';
import type { RoleUse } from '../../../identity/rules/grants.ts';
import type { Lineage } from '../../../identity/rules/lineage.ts';
import { RoleUses } from '../../../identity/store/principals.ts';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { type Pagination, withinListBytes } from '../../../kernel/pagination.ts';
import { sql } from '../../../kernel/sql.ts';

const TokenRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  start: Type.String(),
  enabled: Type.Boolean(),
  scope: RoleUses,
  ceilings: Type.Array(RoleUses),
  minters: Type.Array(Type.String()),
  created_at: Type.String(),
  expires_at: Type.String(),
  last_request: Type.Union([Type.String(), Type.Null()]),
});
export type TokenRow = Static<typeof TokenRow>;

const { ceilings: _, ...shown } = TokenRow.properties;
/** Without its ceilings, which are never shown; `is_beyond`: without its scope too, see `maxListBytes`. */
const ListedRow = Type.Object({ ...shown, is_beyond: Type.Boolean() });
export type ListedToken = Static<typeof ListedRow>;

const columns = sql`id, name, start, enabled, scope, ceilings, minters, created_at, expires_at, last_request`;

/** All tokens of a member, or only one token and its descendants. */
export const tokensOf = (tx: Tx, org: string, user: string, above: string | undefined, { limit, after }: Pagination) => rows(tx, ListedRow)`
  select id, name, start, enabled, case when is_beyond then '[]' else scope end as scope, minters, created_at, expires_at, last_request, is_beyond
    from ${withinListBytes(
      sql`scope`,
      sql`select * from identity.token
           where org_id = ${org} and user_id = ${user} and (${after}::text is null or id < ${after})
             and (${above ?? null}::text is null or id = ${above ?? null} or ${above ?? null} = any(minters))
           order by id desc limit ${limit + 1}`,
    )} t where not is_far order by id desc`;

export const lockToken = (tx: Tx, org: string, user: string, id: string) => row(tx, TokenRow)`
  select ${columns} from identity.token where org_id = ${org} and user_id = ${user} and id = ${id} for update`;

const MadeRow = Type.Object({ id: Type.String(), name: Type.String(), expires_at: Type.String() });

export interface NewToken {
  org: string;
  user: string;
  name: string;
  start: string;
  hash: Buffer;
  scope: RoleUse[];
  ceilings: readonly (readonly RoleUse[])[];
  expiresIn: number;
  /** Its minters; absent for a member’s first token and for tokens that the operator mints. */
  line?: Lineage;
}

export async function insertToken(tx: Tx, t: NewToken): Promise<Static<typeof MadeRow>> {
  hint(tx, t.org, 'tokens.token');
  return (await row(tx, MadeRow)`
    insert into identity.token (org_id, id, user_id, name, start, hash, scope, ceilings, minters, created_at, expires_at)
    select ${t.org}, kernel.new_id('tok'), ${t.user}, ${t.name}, ${t.start}, ${t.hash}, ${JSON.stringify(t.scope)}::jsonb, ${JSON.stringify(t.ceilings)}::jsonb,
           ${t.line?.minters ?? []}::text[], clock.now, least(clock.now + make_interval(secs => ${t.expiresIn}), ${t.line?.endsAt ?? null}::timestamptz)
      from (select kernel.now() as now offset 0) clock -- one look at the clock: else it may last a millisecond longer than asked
    returning id, name, expires_at`)!;
}

/** Gives a token a new key and expiry. Descendants keep their own expiry. */
export const renewToken = async (tx: Tx, org: string, t: Pick<NewToken, 'start' | 'hash' | 'expiresIn'> & { id: string }) =>
  (await row(tx, MadeRow)`
    update identity.token set start = ${t.start}, hash = ${t.hash}, expires_at = kernel.now() + make_interval(secs => ${t.expiresIn})
     where org_id = ${org} and id = ${t.id} returning id, name, expires_at`)!;

export const updateToken = async (tx: Tx, org: string, t: Pick<TokenRow, 'id' | 'name' | 'enabled' | 'scope' | 'ceilings'>) =>
  (await row(tx, TokenRow)`
    update identity.token set name = ${t.name}, enabled = ${t.enabled}, scope = ${JSON.stringify(t.scope)}, ceilings = ${JSON.stringify(t.ceilings)}
     where org_id = ${org} and id = ${t.id} returning ${columns}`)!;

/** Updates the name alone: columns that rights depend on are not named, so their triggers do not fire. */
export const renameToken = async (tx: Tx, org: string, t: Pick<TokenRow, 'id' | 'name'>) =>
  (await row(tx, TokenRow)`
    update identity.token set name = ${t.name} where org_id = ${org} and id = ${t.id} returning ${columns}`)!;

const ScopesRow = Type.Object({ scopes: Type.Array(RoleUses) });

/** The scopes of these tokens. */
export const scopesOf = async (tx: Tx, org: string, ids: readonly string[]) =>
  (
    await rows(tx, ScopesRow)`
      select jsonb_build_array(scope) || ceilings as scopes from identity.token where org_id = ${org} and id = any(${ids})`
  ).flatMap((t) => t.scopes);

/** Deletes a batch of tokens that expired `days` days ago. Their descendants expired no later. */
export const deleteExpired = (tx: Tx, days: number, limit: number): Promise<number> => run(tx)`
  delete from identity.token where (org_id, id) in (
    select org_id, id from identity.token where expires_at < kernel.now() - make_interval(days => ${days}) order by expires_at limit ${limit}
       for update skip locked)`;

const HeldRow = Type.Object({ live: Type.Integer(), over: Type.Integer() });

/** How many tokens of a locked member are live, and how many expired; counts at most `limit`. */
export const countTokens = async (tx: Tx, org: string, user: string, limit: number) =>
  (await row(tx, HeldRow)`
    select count(*) filter (where expires_at > kernel.now()) as live, count(*) filter (where expires_at <= kernel.now()) as over
      from (select expires_at from identity.token where org_id = ${org} and user_id = ${user} order by id desc limit ${limit}) t`)!;

/** Deletes the oldest expired tokens of a member before their retention ends, because there are too many. */
export const deleteOldestOver = (tx: Tx, org: string, user: string, limit: number): Promise<number> => run(tx)`
  delete from identity.token where org_id = ${org} and id in (
    select id from identity.token where org_id = ${org} and user_id = ${user} and expires_at <= kernel.now() order by id limit ${limit}
       for update skip locked)`;
