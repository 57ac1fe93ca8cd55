import { topics } from '../../../../identity/principal.ts';
import { dropRights } from '../../../../identity/rights-lock.ts';
import { mintKey } from '../../../../identity/token-format.ts';
import type { Caches } from '../../../../kernel/cache.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { forbidden, notFound } from '../../../../kernel/errors.ts';
import * as keys from '../../store/keys.ts';
import { insertLogin, type LoginRow, type NewLogin, revokeLogin } from '../../store/logins.ts';
import { countRules, deleteRule, insertRule, type NewRule, type RuleRow } from '../../store/rules.ts';

// Data-plane credentials: keys that somebody minted, logins for an hour, and the rules by which CI mints its own. What is revoked here
// ends at once everywhere: its topic is dropped in the transaction that revokes it.

export type NewManualKey = Pick<keys.NewKey, 'registryId' | 'name' | 'mode' | 'prefixes'> & { userId: string };

/** The secret is shown once; only its hash is kept. */
export async function createKey(tx: Tx, org: string, wanted: NewManualKey): Promise<{ key: keys.KeyRow; secret: string }> {
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

/** A rule goes with the keys that it minted. */
export async function removeRule(tx: Tx, caches: Caches, org: string, registryId: string, id: number) {
  const rule = (await deleteRule(tx, org, registryId, id)) ?? notFound('rule');
  const revoked = await keys.revokeKeysOfRule(tx, org, rule.id);
  await dropRights(tx, caches, org, ruleTopic(rule.id));
  for (const { key_id } of revoked) await caches.drop(tx, topics.credential(key_id));
  return { rule, revoked: revoked.map((k) => k.key_id) };
}

/** Keys that nobody lists any more. */
export const forgetOldKeys = keys.forgetOldKeys;
