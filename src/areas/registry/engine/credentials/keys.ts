import Type from 'typebox';
import { topics } from '../../../../identity/principal.ts';
import { dropRights } from '../../../../identity/rights-lock.ts';
import { mintKey } from '../../../../identity/token-format.ts';
import type { Caches } from '../../../../kernel/cache.ts';
import type { Db, Tx } from '../../../../kernel/db/index.ts';
import { conflict, forbidden, notFound } from '../../../../kernel/errors.ts';
import { enqueue, type Job, job } from '../../../../kernel/jobs/index.ts';
import { runAtQuarterLoad } from '../../../../kernel/yielding.ts';
import * as keys from '../../store/keys.ts';
import { isManualKeyLimitReached, maxManualKeysPerRegistry } from '../../store/limits.ts';
import { insertLogin, type LoginRow, type NewLogin, revokeLogin } from '../../store/logins.ts';
import { countRules, deleteRule, insertRule, type NewRule, type RuleRow } from '../../store/rules.ts';

// Data-plane credentials: manually minted keys, one-hour logins, and OIDC rules with which CI mints keys. A revocation takes effect
// everywhere at once: the transaction that revokes a credential drops its topic.

export type NewManualKey = Pick<keys.NewKey, 'registryId' | 'name' | 'mode' | 'prefixes'> & { userId: string };

/** The secret is shown once; only its hash is stored. */
export async function createKey(tx: Tx, org: string, wanted: NewManualKey): Promise<{ key: keys.KeyRow; secret: string }> {
  if (await isManualKeyLimitReached(tx, wanted.registryId))
    conflict(`the registry has ${maxManualKeysPerRegistry} keys that are not revoked, which is the most; revoke one first`);
  const { key: secret, hash } = mintKey('reg');
  const key = (await keys.insertKey(tx, org, { ...wanted, hash, mintedVia: 'manual' }))!;
  return { key, secret };
}

export async function revokeKey(tx: Tx, caches: Caches, org: string, registryId: string, keyId: string) {
  const key = (await keys.revokeKey(tx, org, registryId, keyId)) ?? notFound('key');
  await dropRights(tx, caches, org, topics.credential(key.key_id));
  return key;
}

const loginSeconds = 3600;

export async function createLogin(tx: Tx, org: string, wanted: Omit<NewLogin, 'hash' | 'expiresIn'>) {
  const { key: password, hash } = mintKey('reg');
  return { login: await insertLogin(tx, org, { ...wanted, hash, expiresIn: loginSeconds }), password };
}

export async function endLogin(tx: Tx, caches: Caches, org: string, { key_id }: LoginRow): Promise<void> {
  await revokeLogin(tx, org, key_id);
  await dropRights(tx, caches, org, topics.credential(key_id));
}

/** Dropping this topic invalidates every key that the rule minted. */
export const ruleTopic = (rule: number) => topics.credential(`oidc-rule-${rule}`);

/** Limited because every token of the issuer is compared with each rule. */
export const maxRulesPerRegistry = 100;

/** Creates a rule. The caller holds the lock on the registry's row, so the count cannot change meanwhile. */
export async function createRule(tx: Tx, org: string, registryId: string, rule: NewRule): Promise<RuleRow> {
  if ((await countRules(tx, org, registryId)) >= maxRulesPerRegistry)
    forbidden(`a registry has at most ${maxRulesPerRegistry} OIDC rules; delete one that no job uses, or let a pattern cover several jobs`);
  return insertRule(tx, org, registryId, rule);
}

/** Keys that one transaction revokes or deletes. */
const keysPerBatch = 500;

const RevokeKeysPayload = Type.Object({ registryId: Type.String(), ruleId: Type.Integer() });

/**
 * Marks the keys of a deleted rule as revoked, for the list, one batch per transaction. They stopped working when the rule was deleted, so
 * a crash or delay extends none of them. Safe to run twice.
 */
export const revokeKeysJob: Job<{ registryId: string; ruleId: number }, unknown> = job(
  'registry.revoke-keys',
  { payload: RevokeKeysPayload },
  async ({ db, org, signal, payload: { registryId, ruleId } }) => {
    for (let revoked = keysPerBatch; revoked === keysPerBatch; ) {
      signal.throwIfAborted();
      const revokeBatch = () => db.write((tx) => keys.revokeKeysOfRule(tx, org!, { registryId, ruleId, limit: keysPerBatch }));
      revoked = (await runAtQuarterLoad(signal, revokeBatch)).length;
    }
  },
);

/** Deletes a rule. Its keys stop working at the commit. `isMore`: a job marks the remaining keys as revoked. */
export async function removeRule(tx: Tx, caches: Caches, org: string, registryId: string, id: number) {
  const rule = (await deleteRule(tx, org, registryId, id)) ?? notFound('rule');
  const revoked = await keys.revokeKeysOfRule(tx, org, { registryId, ruleId: rule.id, limit: keysPerBatch });
  const isMore = revoked.length === keysPerBatch;
  if (isMore) await enqueue(tx, revokeKeysJob, { key: String(rule.id), org, payload: { registryId, ruleId: rule.id } });
  await dropRights(tx, caches, org, ruleTopic(rule.id));
  return { rule, revoked: revoked.map((k) => k.key_id), isMore };
}

const DeleteKeysPayload = Type.Object({ registryId: Type.String() });

/**
 * Deletes the keys of a deleted registry, one batch per transaction. They stopped working when the registry was deleted. Safe to run twice.
 */
export const deleteKeysJob: Job<{ registryId: string }, unknown> = job(
  'registry.delete-keys',
  { payload: DeleteKeysPayload },
  async ({ db, signal, payload: { registryId } }) => {
    for (let deleted = keysPerBatch; deleted === keysPerBatch; ) {
      signal.throwIfAborted();
      deleted = await runAtQuarterLoad(signal, () => db.write((tx) => keys.deleteKeysOf(tx, registryId, keysPerBatch)));
    }
  },
);

/** Deletes the first batch of a registry's keys in this transaction; a job deletes the rest. */
export async function removeKeys(tx: Tx, org: string, registryId: string): Promise<void> {
  if ((await keys.deleteKeysOf(tx, registryId, keysPerBatch)) < keysPerBatch) return;
  await enqueue(tx, deleteKeysJob, { key: registryId, org, payload: { registryId } });
}

/** Deletes keys that no list shows any more, one batch per transaction. */
export async function forgetOldKeys(db: Db, signal: AbortSignal): Promise<void> {
  for (const forget of [keys.forgetListedKeys, keys.forgetLogins])
    while (!signal.aborted && (await db.write((tx) => forget(tx, keysPerBatch))) === keysPerBatch);
}
