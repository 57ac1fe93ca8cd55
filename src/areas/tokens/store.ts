import Type, { type Static } from 'typebox';
import { RoleUses } from '../../identity/store.ts';
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
  created_at: Type.String(),
  expires_at: Type.String(),
  last_request: Type.Union([Type.String(), Type.Null()]),
});
export type TokenRow = Static<typeof TokenRow>;

const columns = sql`id, name, start, enabled, scope, ceilings, created_at, expires_at, last_request`;

export const tokensOf = (tx: Tx, org: string, user: string, { limit, after }: Page) => rows(tx, TokenRow)`
  select ${columns} from identity.token
   where org_id = ${org} and user_id = ${user} and (${after}::text is null or id < ${after})
   order by id desc limit ${limit + 1}`;

export const lockToken = (tx: Tx, org: string, user: string, id: string) => row(tx, TokenRow)`
  select ${columns} from identity.token where org_id = ${org} and user_id = ${user} and id = ${id} for update`;

export const updateToken = async (tx: Tx, org: string, t: Pick<TokenRow, 'id' | 'name' | 'enabled' | 'scope' | 'ceilings'>) =>
  (await row(tx, TokenRow)`
    update identity.token set name = ${t.name}, enabled = ${t.enabled}, scope = ${JSON.stringify(t.scope)}, ceilings = ${JSON.stringify(t.ceilings)}
     where org_id = ${org} and id = ${t.id} returning ${columns}`)!;

export const deleteToken = (tx: Tx, org: string, id: string) => run(tx)`delete from identity.token where org_id = ${org} and id = ${id}`;
