import Type, { type Static } from 'typebox';
import type { Entitlement } from '../../../../contract/common.ts';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const TokenRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  created_at: Type.String(),
  last_used_at: Type.Union([Type.String(), Type.Null()]),
});
export type TokenRow = Static<typeof TokenRow>;

const columns = sql`id, name, created_at, last_used_at`;

export const tokensOf = (tx: Tx, org: string) => rows(tx, TokenRow)`
  select ${columns} from uptime.export_token where org_id = ${org} and revoked_at is null order by id desc`;

/** Counted under a lock until the transaction ends: two requests at once cannot both take the last one. */
export const countTokens = async (tx: Tx, org: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('uptime.export'), hashtext(${org}))`;
  return (await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from uptime.export_token where org_id = ${org} and revoked_at is null`)!.n;
};

export const insertToken = async (tx: Tx, org: string, name: string, hash: Buffer): Promise<TokenRow> =>
  (await row(tx, TokenRow)`
    insert into uptime.export_token (org_id, id, name, hash, created_at)
    values (${org}, kernel.new_id('exp'), ${name}, ${hash}, kernel.now()) returning ${columns}`)!;

/** Undefined: unknown, or revoked before. */
export const revokeToken = (tx: Tx, org: string, id: string) => row(tx, TokenRow)`
  update uptime.export_token set revoked_at = kernel.now() where org_id = ${org} and id = ${id} and revoked_at is null returning ${columns}`;

const CredentialRow = Type.Object({ org_id: Type.String(), id: Type.String(), revoked: Type.Boolean() });

export const tokenByHash = (tx: Tx, hash: Buffer) => row(tx, CredentialRow)`
  select org_id, id, revoked_at is not null as revoked from uptime.export_token where hash = ${hash}`;

const OrgRow = Type.Object({ slug: Type.String(), entitlements: Type.Array(Type.Unsafe<Entitlement>({ type: 'string' })) });

/** A separate query, not a join: the organization belongs to another schema. */
export const organizationOf = async (tx: Tx, org: string) =>
  (await row(tx, OrgRow)`select slug, entitlements from identity.org where id = ${org}`)!;

export const isLive = async (tx: Tx, org: string, id: string): Promise<boolean> =>
  (await run(tx)`select 1 from uptime.export_token where org_id = ${org} and id = ${id} and revoked_at is null`) > 0;

/** Written once a minute at most: a scrape every few seconds must not become a write each. */
export const touchToken = (tx: Tx, org: string, id: string) =>
  run(tx)`update uptime.export_token set last_used_at = kernel.now()
           where org_id = ${org} and id = ${id} and (last_used_at is null or last_used_at <= kernel.now() - interval '1 minute')`;
