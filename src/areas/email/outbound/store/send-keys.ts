import Type, { type Static } from 'typebox';
import type { Entitlement } from '../../../../../contract/common.ts';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { sql, type Visible } from '../../../../kernel/sql.ts';

const KeyRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  key_id: Type.String(),
  domain_ids: Type.Array(Type.String()),
  created_at: Type.String(),
  last_used_at: Type.Union([Type.String(), Type.Null()]),
});
export type KeyRow = Static<typeof KeyRow>;

const columns = sql`id, name, key_id, domain_ids, created_at, last_used_at`;

/** Of a caller who is narrowed to domains: the keys that send for none but these. A key without domains sends for all. */
const sendsWithin = (visible: Visible) => (visible === '*' ? sql`true` : sql`domain_ids <> '{}' and domain_ids <@ ${[...visible]}::text[]`);

export const keysOf = (tx: Tx, org: string, visible: Visible) => rows(tx, KeyRow)`
  select ${columns} from email.send_key where org_id = ${org} and revoked_at is null and ${sendsWithin(visible)} order by id desc`;

/** Counts under a lock until the transaction ends, so that two concurrent requests cannot both take the last slot. */
export const countKeys = async (tx: Tx, org: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('email.key'), hashtext(${org}))`;
  return (await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from email.send_key where org_id = ${org} and revoked_at is null`)!.n;
};

export interface NewKey {
  name: string;
  keyId: string;
  hash: Buffer;
  domainIds: readonly string[];
}

export const insertKey = async (tx: Tx, org: string, { name, keyId, hash, domainIds }: NewKey): Promise<KeyRow> =>
  (await row(tx, KeyRow)`
    insert into email.send_key (org_id, id, name, key_id, hash, domain_ids, created_at)
    values (${org}, kernel.new_id('esk'), ${name}, ${keyId}, ${hash}, ${domainIds}, kernel.now()) returning ${columns}`)!;

/** Undefined: unknown or already revoked. */
export const lockKey = (tx: Tx, org: string, id: string) => row(tx, KeyRow)`
  select ${columns} from email.send_key where org_id = ${org} and id = ${id} and revoked_at is null for update`;

export const revokeKey = (tx: Tx, org: string, id: string) =>
  run(tx)`update email.send_key set revoked_at = kernel.now() where org_id = ${org} and id = ${id}`;

const CredentialRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  name: Type.String(),
  key_id: Type.String(),
  domain_ids: Type.Array(Type.String()),
  revoked: Type.Boolean(),
});

export const keyByHash = (tx: Tx, hash: Buffer) => row(tx, CredentialRow)`
  select org_id, id, name, key_id, domain_ids, revoked_at is not null as revoked from email.send_key where hash = ${hash}`;

const OrgRow = Type.Object({ slug: Type.String(), entitlements: Type.Array(Type.Unsafe<Entitlement>({ type: 'string' })) });

/** A separate query, not a join, since the organization belongs to another schema. */
export const organizationOf = async (tx: Tx, org: string) =>
  (await row(tx, OrgRow)`select slug, entitlements from identity.org where id = ${org}`)!;

const LiveRow = Type.Object({ keys: Type.Array(Type.String()), orgs: Type.Array(Type.String()) });

/** The keys that are not revoked, and the organizations with the email entitlement. */
export const findLive = async (tx: Tx, keys: readonly string[], orgs: readonly string[]) =>
  (await row(tx, LiveRow)`
    select array(select id from email.send_key where id = any(${keys}::text[]) and revoked_at is null) as keys,
           array(select id from identity.org where id = any(${orgs}::text[]) and 'email' = any(entitlements)) as orgs`)!;

/** At most one write per key and minute. */
export const touchKeys = (tx: Tx, ids: readonly string[]) => run(tx)`
  with due as (select id from email.send_key
                where id = any(${ids}::text[]) and (last_used_at is null or last_used_at <= kernel.now() - interval '1 minute')
                order by id for update)
  update email.send_key k set last_used_at = kernel.now() from due where k.id = due.id`;
