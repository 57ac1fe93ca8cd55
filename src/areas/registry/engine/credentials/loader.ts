import { type Loader, topics } from '../../../../identity/principal.ts';
import { loadTokenById, rightsOf } from '../../../../identity/rights.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Access, Reach } from '../../rules/access.ts';
import { topics as contentTopics } from '../../rules/topics.ts';
import { type KeyBehind, keyByHash } from '../../store/keys.ts';
import { ruleTopic } from './keys.ts';

/** What the principal cache keeps of a data-plane credential; a request adds what its bearer token was issued for. */
export type Held = Omit<Access, 'scopes' | 'signal' | 'again'>;

/** Keys reach one registry. A login reaches what it was minted for, as far and as long as the token that minted it still does. */
export const loadKey: Loader = async (tx, hash) => {
  const key = await keyByHash(tx, hash);
  if (!key) return undefined;
  const { rights, ttlMs, topics: dropOn } = key.minted_via === 'login' ? await loginBounds(tx, key) : keyBounds;
  const registries = new Map<string, Reach>();
  for (const { slug, registryId, mode, prefixes } of key.reach) {
    if (!rights(registryId, 'pull')) continue;
    registries.set(slug, { registryId, mode: mode === 'readwrite' && rights(registryId, 'readwrite') ? 'readwrite' : 'pull', prefixes });
  }
  const held: Held = { keyId: key.key_id, org: key.org_id, label: key.name, registries };
  return {
    ttlMs: Math.min(key.ttl_ms ?? ttlMs, ttlMs),
    topics: [
      topics.org(key.org_id),
      topics.credential(key.key_id),
      ...(key.user_id ? [topics.user(key.org_id, key.user_id)] : []),
      ...(key.rule_id ? [ruleTopic(key.rule_id)] : []),
      ...dropOn,
      ...key.reach.map((r) => contentTopics.registry(r.registryId)),
    ],
    principal:
      key.revoked || !registries.size
        ? undefined
        : {
            id: key.key_id,
            org: { id: key.org_id, slug: '' },
            entitlements: new Set(),
            grants: new Map(),
            scopes: [],
            customRoles: {},
            access: held,
          },
  };
};

/** What a credential's rights follow from besides itself, how long that holds, and what drops it. */
interface Bounds {
  rights: (registryId: string, mode: Reach['mode']) => boolean;
  ttlMs: number;
  topics: string[];
}

const keyBounds: Bounds = { rights: () => true, ttlMs: Number.POSITIVE_INFINITY, topics: [] };

async function loginBounds(tx: Tx, { org_id, user_id, minted_by }: KeyBehind): Promise<Bounds> {
  const minter = minted_by === null ? undefined : await loadTokenById(tx, org_id, minted_by);
  // A login from before logins knew their token hangs on the person alone.
  const grants = minted_by !== null ? minter?.principal?.grants : user_id !== null ? await rightsOf(tx, org_id, user_id) : undefined;
  return {
    rights: (registryId, mode) => {
      const held = grants?.get(mode === 'pull' ? 'registry.image.read' : 'registry.image.write');
      return held === '*' || held?.has(registryId) === true;
    },
    ttlMs: minter?.ttlMs ?? Number.POSITIVE_INFINITY,
    topics: minter?.topics ?? [topics.roles(org_id)],
  };
}
