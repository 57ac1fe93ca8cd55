import Type, { type Static } from 'typebox';
import { RoleUses } from '../../identity/store/principals.ts';
import { row, rows, run, type Tx } from '../../kernel/db.ts';
import type { Page } from '../../kernel/page.ts';
import { sql } from '../../kernel/sql.ts';

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

const columns = sql`id, name, start, enabled, scope, ceilings, minters, created_at, expires_at, last_request`;

/** All of somebody's, or only a token of theirs and what it minted. */
export const tokensOf = (tx: Tx, org: string, user: string, above: string | undefined, { limit, after }: Page) => rows(tx, TokenRow)`
  select ${columns} from identity.token
   where org_id = ${org} and user_id = ${user} and (${after}::text is null or id < ${after})
     and (${above ?? null}::text is null or id = ${above ?? null} or ${above ?? null} = any(minters))
   order by id desc limit ${limit + 1}`;

export const lockToken = (tx: Tx, org: string, user: string, id: string) => row(tx, TokenRow)`
  select ${columns} from identity.token where org_id = ${org} and user_id = ${user} and id = ${id} for update`;

export const updateToken = async (tx: Tx, org: string, t: Pick<TokenRow, 'id' | 'name' | 'enabled' | 'scope' | 'ceilings'>) =>
  (await row(tx, TokenRow)`
    update identity.token set name = ${t.name}, enabled = ${t.enabled}, scope = ${JSON.stringify(t.scope)}, ceilings = ${JSON.stringify(t.ceilings)}
     where org_id = ${org} and id = ${t.id} returning ${columns}`)!;

const ScopesRow = Type.Object({ scopes: Type.Array(RoleUses) });

/** What each of these tokens is narrowed to. */
export const scopesOf = async (tx: Tx, org: string, ids: readonly string[]) =>
  (
    await rows(tx, ScopesRow)`
      select jsonb_build_array(scope) || ceilings as scopes from identity.token where org_id = ${org} and id = any(${ids})`
  ).flatMap((t) => t.scopes);

/** Some of those that have been over for so many days. What one of them minted was over no later. */
export const forgetExpired = (tx: Tx, days: number, most: number) => run(tx)`
  delete from identity.token where (org_id, id) in (
    select org_id, id from identity.token where expires_at < kernel.now() - make_interval(days => ${days}) order by id limit ${most}
       for update skip locked)`;
