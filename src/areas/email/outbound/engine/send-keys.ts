import { randomInt } from 'node:crypto';
import { type Loader, topics } from '../../../../identity/principal.ts';
import { dropRights } from '../../../../identity/rights-lock.ts';
import { mintKey } from '../../../../identity/token-format.ts';
import type { Caches } from '../../../../kernel/cache.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { forbidden, notFound } from '../../../../kernel/errors.ts';
import { knownDomains } from '../../domains/store/domains.ts';
import * as store from '../store/send-keys.ts';

const maxKeys = 100;

/** `access` of a send key's principal. */
export interface SendAccess {
  /** The user name for SMTP submission. */
  keyId: string;
  name: string;
  /** Empty: every domain of the organization. */
  domainIds: readonly string[];
}

const letters = '0123456789abcdefghijklmnopqrstuvwxyz';
const newKeyId = () => `esk_${Array.from({ length: 16 }, () => letters[randomInt(letters.length)]).join('')}`;

/** The secret is shown once. */
export async function mintSendKey(
  tx: Tx,
  org: string,
  { name, domainIds }: { name: string; domainIds: readonly string[] },
): Promise<{ key: store.KeyRow; secret: string }> {
  const known = await knownDomains(tx, org, domainIds);
  for (const id of domainIds) if (!known.has(id)) notFound(`domain ${id} in domainIds`);
  if ((await store.countKeys(tx, org)) >= maxKeys)
    forbidden(`the organization has ${maxKeys} send keys, as many as it may; revoke one first`, { code: 'quota_reached' });
  const { key: secret, hash } = mintKey('mail');
  const key = await store.insertKey(tx, org, { name, keyId: newKeyId(), hash, domainIds: [...new Set(domainIds)] });
  return { key, secret };
}

/** The key is refused as soon as this commits, in every cache; its sessions end. */
export async function revokeSendKey(tx: Tx, caches: Caches, org: string, id: string): Promise<store.KeyRow> {
  const key = (await store.revokeKey(tx, org, id)) ?? notFound('send key');
  await dropRights(tx, caches, org, topics.credential(key.id));
  return key;
}

export const loadSendKey: Loader = async (tx, hash) => {
  const key = await store.keyByHash(tx, hash);
  if (!key) return undefined;
  const org = await store.organizationOf(tx, key.org_id);
  const access: SendAccess = { keyId: key.key_id, name: key.name, domainIds: key.domain_ids };
  return {
    ttlMs: key.revoked ? 0 : Number.POSITIVE_INFINITY,
    topics: [topics.org(key.org_id), topics.credential(key.id)],
    principal: key.revoked
      ? undefined
      : {
          id: key.id,
          org: { id: key.org_id, slug: org.slug },
          entitlements: new Set(org.entitlements),
          grants: new Map(),
          scopes: [],
          customRoles: {},
          access,
        },
  };
};
