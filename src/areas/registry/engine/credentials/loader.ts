import { type Loader, topics } from '../../../../identity/principal.ts';
import { loadMinter, rightsOf } from '../../../../identity/rights.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Access, Reach } from '../../rules/access.ts';
import { topics as contentTopics } from '../../rules/topics.ts';
import { keyByHash, type LoadedKey } from '../../store/keys.ts';
import { ruleTopic } from './keys.ts';

/** The cached rights of a data-plane credential. A request adds the scopes of its bearer token. */
export type CredentialAccess = Omit<Access, 'scopes' | 'signal' | 'reload'>;

/** A key reaches one registry. A login reaches its scope, limited by the current rights of the token that minted it. */
export const loadKey: Loader = async (tx, hash) => {
  const key = await keyByHash(tx, hash);
  if (!key) return undefined;
  const { rights, ttlMs, topics: dropOn } = key.minted_via === 'login' ? await loginRights(tx, key) : keyRights;
  const registries = new Map<string, Reach>();
  for (const { slug, registryId, mode, prefixes } of key.reach) {
    if (!rights(registryId, 'pull')) continue;
    registries.set(slug, { registryId, mode: mode === 'readwrite' && rights(registryId, 'readwrite') ? 'readwrite' : 'pull', prefixes });
  }
  const held: CredentialAccess = { keyId: key.key_id, org: key.org_id, label: key.name, registries };
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

/** The rights that limit a credential, how long they are valid, and the topics that drop them. */
interface RightsSource {
  rights: (registryId: string, mode: Reach['mode']) => boolean;
  ttlMs: number;
  topics: string[];
}

const keyRights: RightsSource = { rights: () => true, ttlMs: Number.POSITIVE_INFINITY, topics: [] };

async function loginRights(tx: Tx, { org_id, user_id, minted_by }: LoadedKey): Promise<RightsSource> {
  const minter = minted_by === null ? undefined : await loadMinter(tx, org_id, minted_by);
  // Logins of an older release do not name their token; the person's rights apply.
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
