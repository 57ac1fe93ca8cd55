import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { type Sql, sql } from '../../../kernel/sql.ts';

export type Mode = 'pull' | 'readwrite';
const ModeRow = Type.Unsafe<Mode>({ type: 'string', enum: ['pull', 'readwrite'] });
const Maybe = Type.Union([Type.String(), Type.Null()]);

const KeyRow = Type.Object({
  key_id: Type.String(),
  name: Type.String(),
  mode: ModeRow,
  prefixes: Type.Array(Type.String()),
  minted_via: Type.Unsafe<'manual' | 'oidc'>({ type: 'string', enum: ['manual', 'oidc'] }),
  created_at: Type.String(),
  expires_at: Maybe,
  last_used_at: Maybe,
  revoked_at: Maybe,
});
export type KeyRow = Static<typeof KeyRow>;
const columns = sql`key_id, name, mode, prefixes, minted_via, created_at, expires_at, last_used_at, revoked_at`;

/** Days for which an expired or revoked key stays in the list. */
const listedDays = 90;
const isLongExpired = sql`least(expires_at, revoked_at) < (select kernel.now()) - make_interval(days => ${listedDays})`;

/** Limit on listed keys that are expired, revoked or minted by jobs. */
const maxListedKeys = 1_000;
const isActiveManual = sql`minted_via = 'manual' and revoked_at is null`;

/** All active manual keys, and the newest of the others. */
export const keysOf = (tx: Tx, org: string, registryId: string) => rows(tx, KeyRow)`
  (select ${columns} from registry.registry_key where org_id = ${org} and registry_id = ${registryId} and ${isActiveManual})
  union all
  (select ${columns} from registry.registry_key
    where org_id = ${org} and registry_id = ${registryId} and not (${isActiveManual}) and (${isLongExpired}) is not true order by key_id desc limit ${maxListedKeys})
  order by key_id desc`;

export interface NewKey {
  registryId: string;
  name: string;
  hash: Buffer;
  mode: Mode;
  prefixes: readonly string[];
  mintedVia: 'manual' | 'oidc';
  userId?: string;
  ruleId?: number;
  expiresIn?: number;
}

/** Undefined: a key with this hash exists already. */
export const insertKey = (tx: Tx, org: string, k: NewKey) => row(tx, KeyRow)`
  insert into registry.registry_key (key_id, org_id, registry_id, user_id, name, hash, mode, prefixes, minted_via, rule_id, created_at, expires_at)
  values (kernel.new_id('rk'), ${org}, ${k.registryId}, ${k.userId ?? null}, ${k.name}, ${k.hash}, ${k.mode}, ${k.prefixes}, ${k.mintedVia},
          ${k.ruleId ?? null}, kernel.now(), kernel.now() + make_interval(secs => ${k.expiresIn ?? null}))
  on conflict (hash) do nothing returning ${columns}`;

const RevokedRow = Type.Object({ key_id: Type.String(), name: Type.String() });

/** Undefined: unknown, revoked or expired. */
export const revokeKey = (tx: Tx, org: string, registryId: string, keyId: string) => row(tx, RevokedRow)`
  update registry.registry_key set revoked_at = kernel.now()
   where org_id = ${org} and registry_id = ${registryId} and key_id = ${keyId} and revoked_at is null
     and (expires_at is null or expires_at > kernel.now())
  returning key_id, name`;

/** Revokes a batch of a rule's keys that are neither revoked nor expired. */
export const revokeKeysOfRule = (
  tx: Tx,
  org: string,
  { registryId, ruleId, limit }: { registryId: string; ruleId: number; limit: number },
) => rows(tx, RevokedRow)`
  update registry.registry_key set revoked_at = kernel.now()
   where key_id in (
     select key_id from registry.registry_key
      where org_id = ${org} and registry_id = ${registryId} and minted_via = 'oidc' and rule_id = ${ruleId} and revoked_at is null
        and expires_at > (select kernel.now()) order by expires_at limit ${limit} for no key update)
  returning key_id, name`;

const LoadedRow = Type.Object({
  key_id: Type.String(),
  org_id: Type.String(),
  user_id: Maybe,
  minted_by: Maybe,
  rule_id: Type.Union([Type.Integer(), Type.Null()]),
  name: Type.String(),
  minted_via: Type.Unsafe<'manual' | 'oidc' | 'login'>({ type: 'string', enum: ['manual', 'oidc', 'login'] }),
  revoked: Type.Boolean(),
  ttl_ms: Type.Union([Type.Number(), Type.Null()]),
  reach: Type.Array(Type.Object({ slug: Type.String(), registryId: Type.String(), mode: ModeRow, prefixes: Type.Array(Type.String()) })),
});

export type LoadedKey = Static<typeof LoadedRow>;

/** The complete reach of a data-plane credential, in one statement. */
export const keyByHash = (tx: Tx, hash: Buffer) => row(tx, LoadedRow)`
  select k.key_id, k.org_id, k.user_id, k.minted_by, k.rule_id, k.name, k.minted_via,
         k.revoked_at is not null or (k.rule_id is not null and not exists (select from registry.oidc_rule o where o.id = k.rule_id)) as revoked,
         (extract(epoch from k.expires_at - kernel.now()) * 1000)::float8 as ttl_ms,
         coalesce((select jsonb_agg(jsonb_build_object('slug', g.slug, 'registryId', g.id, 'mode', coalesce(s.mode, k.mode), 'prefixes', to_jsonb(k.prefixes)))
                     from registry.registry g left join registry.login_scope s on s.key_id = k.key_id and s.registry_id = g.id
                    where g.org_id = k.org_id and (g.id = k.registry_id or s.key_id is not null)), '[]') as reach
    from registry.registry_key k where k.hash = ${hash}`;

/** Written in batches every few seconds, in key order against deadlocks, at most once a minute per key. */
export const touchKeys = (tx: Tx, keyIds: readonly string[]) => run(tx)`
  with due as (select key_id from registry.registry_key
                where key_id = any(${keyIds}::text[]) and (last_used_at is null or last_used_at <= kernel.now() - interval '1 minute')
                order by key_id for update)
  update registry.registry_key k set last_used_at = kernel.now() from due where k.key_id = due.key_id`;

const deleteKeysWhere = (tx: Tx, which: Sql, limit: number) => run(tx)`
  delete from registry.registry_key where key_id in (
    select key_id from registry.registry_key where ${which} order by least(expires_at, revoked_at) limit ${limit} for update skip locked)`;

/** Deletes a batch of keys that have left the list. */
export const forgetListedKeys = (tx: Tx, limit: number) =>
  deleteKeysWhere(tx, sql`(expires_at is not null or revoked_at is not null) and ${isLongExpired}`, limit);

/** Deletes a batch of logins a day after they expired; no list shows logins. */
export const forgetLogins = (tx: Tx, limit: number) =>
  deleteKeysWhere(tx, sql`minted_via = 'login' and least(expires_at, revoked_at) < (select kernel.now()) - interval '1 day'`, limit);

/** Deletes a batch of a deleted registry's keys, then of its login scopes. Returns the number of rows. */
export async function deleteKeysOf(tx: Tx, registryId: string, limit: number): Promise<number> {
  const keys = await run(tx)`
    delete from registry.registry_key where key_id = any(array(
      select key_id from registry.registry_key where registry_id = ${registryId} order by key_id limit ${limit}))`;
  if (keys === limit) return limit;
  const scopes = await run(tx)`
    delete from registry.login_scope where registry_id = ${registryId} and key_id = any(array(
      select key_id from registry.login_scope where registry_id = ${registryId} order by key_id limit ${limit - keys}))`;
  return keys + scopes;
}
