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
import { hasAllKeys, mostKeys } from '../../store/limits.ts';
import { insertLogin, type LoginRow, type NewLogin, revokeLogin } from '../../store/logins.ts';
import { countRules, deleteRule, insertRule, type NewRule, type RuleRow } from '../../store/rules.ts';

// Data-plane credentials: keys that somebody minted, logins for an hour, and the rules by which CI mints its own. What is revoked here
// ends at once everywhere: its topic is dropped in the transaction that revokes it.

export type NewManualKey = Pick<keys.NewKey, 'registryId' | 'name' | 'mode' | 'prefixes'> & { userId: string };

/** The secret is shown once; only its hash is kept. */
export async function createKey(tx: Tx, org: string, wanted: NewManualKey): Promise<{ key: keys.KeyRow; secret: string }> {
  if (await hasAllKeys(tx, wanted.registryId))
    conflict(`the registry has ${mostKeys} keys that are not revoked, which is the most; revoke one first`);
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

/** Keys that a rule minted hang on it: they end with it. */
export const ruleTopic = (rule: number) => topics.credential(`oidc-rule-${rule}`);

/** A registry has at most so many: each is held against every token of its issuer. */
export const mostRules = 100;

/** A rule of a registry, whose row is locked: so nobody else makes one while they are counted. */
export async function createRule(tx: Tx, org: string, registryId: string, rule: NewRule): Promise<RuleRow> {
  if ((await countRules(tx, org, registryId)) >= mostRules)
    forbidden(`a registry has at most ${mostRules} OIDC rules; delete one that no job uses, or let a pattern cover several jobs`);
  return insertRule(tx, org, registryId, rule);
}

/** Keys that one transaction revokes or forgets. */
const atOnce = 500;

const Ended = Type.Object({ registryId: Type.String(), ruleId: Type.Integer() });

/** Notes for the list that the keys of a deleted rule are revoked, one portion a transaction. They open nothing since the rule is gone, so
 *  neither a crash nor a delay gives them another minute. Safe to run twice. */
export const revokeKeysJob: Job<{ registryId: string; ruleId: number }, unknown> = job(
  'registry.revoke-keys',
  { payload: Ended },
  async ({ db, org, signal, payload: { registryId, ruleId } }) => {
    for (let revoked = atOnce; revoked === atOnce; ) {
      signal.throwIfAborted();
      const portion = () => db.write((tx) => keys.revokeKeysOfRule(tx, org!, { registryId, ruleId, limit: atOnce }));
      revoked = (await runAtQuarterLoad(signal, portion)).length;
    }
  },
);

/** A rule goes with the keys that it minted: from the commit on they open nothing. `isMore`: a job marks further ones as revoked. */
export async function removeRule(tx: Tx, caches: Caches, org: string, registryId: string, id: number) {
  const rule = (await deleteRule(tx, org, registryId, id)) ?? notFound('rule');
  const revoked = await keys.revokeKeysOfRule(tx, org, { registryId, ruleId: rule.id, limit: atOnce });
  const isMore = revoked.length === atOnce;
  if (isMore) await enqueue(tx, revokeKeysJob, { key: String(rule.id), org, payload: { registryId, ruleId: rule.id } });
  await dropRights(tx, caches, org, ruleTopic(rule.id));
  return { rule, revoked: revoked.map((k) => k.key_id), isMore };
}

const Gone = Type.Object({ registryId: Type.String() });

/** Deletes the keys of a deleted registry, one portion a transaction. They open nothing since it is gone. Safe to run twice. */
export const deleteKeysJob: Job<{ registryId: string }, unknown> = job(
  'registry.delete-keys',
  { payload: Gone },
  async ({ db, signal, payload: { registryId } }) => {
    for (let deleted = atOnce; deleted === atOnce; ) {
      signal.throwIfAborted();
      deleted = await runAtQuarterLoad(signal, () => db.write((tx) => keys.deleteKeysOf(tx, registryId, atOnce)));
    }
  },
);

/** The keys of a registry that this transaction deletes; a job takes those that are left. */
export async function removeKeys(tx: Tx, org: string, registryId: string): Promise<void> {
  if ((await keys.deleteKeysOf(tx, registryId, atOnce)) < atOnce) return;
  await enqueue(tx, deleteKeysJob, { key: registryId, org, payload: { registryId } });
}

/** Keys that no list shows any more, one portion a transaction. */
export async function forgetOldKeys(db: Db, signal: AbortSignal): Promise<void> {
  for (const forget of [keys.forgetListedKeys, keys.forgetLogins])
    while (!signal.aborted && (await db.write((tx) => forget(tx, atOnce))) === atOnce);
}
