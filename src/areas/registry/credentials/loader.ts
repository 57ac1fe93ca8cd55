import { type Loader, topics } from '../../../identity/principal.ts';
import { rightsOf } from '../../../identity/rights.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { Access, Reach } from '../access.ts';
import { keyByHash } from '../store/keys.ts';
import { topics as contentTopics } from '../topics.ts';

/** What the principal cache keeps of a data-plane credential; a request adds what its bearer token was issued for. */
export type Held = Omit<Access, 'scopes' | 'signal'>;

/** Keys reach one registry. A login reaches what it was minted for, as far as the person behind it still may. */
export const loadKey: Loader = async (tx, hash) => {
  const key = await keyByHash(tx, hash);
  if (!key) return undefined;
  const rights = key.minted_via === 'login' ? await loginRights(tx, key.org_id, key.user_id) : keyRights;
  const registries = new Map<string, Reach>();
  for (const { slug, registryId, mode, prefixes } of key.reach) {
    if (!rights(registryId, 'pull')) continue;
    registries.set(slug, { registryId, mode: mode === 'readwrite' && rights(registryId, 'readwrite') ? 'readwrite' : 'pull', prefixes });
  }
  const held: Held = { keyId: key.key_id, org: key.org_id, label: key.name, registries };
  return {
    ttlMs: key.ttl_ms ?? Number.POSITIVE_INFINITY,
    topics: [
      topics.org(key.org_id),
      topics.credential(key.key_id),
      ...(key.user_id ? [topics.user(key.org_id, key.user_id)] : []),
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

type Rights = (registryId: string, mode: Reach['mode']) => boolean;

const keyRights: Rights = () => true;

async function loginRights(tx: Tx, org: string, user: string | null): Promise<Rights> {
  const grants = user === null ? undefined : await rightsOf(tx, org, user);
  return (registryId, mode) => {
    const held = grants?.get(mode === 'pull' ? 'registry.image.read' : 'registry.image.write');
    return held === '*' || held?.has(registryId) === true;
  };
}
