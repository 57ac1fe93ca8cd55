import { randomInt } from 'node:crypto';
import type { Ctx } from '../../../../identity/context.ts';
import { type Loader, topics } from '../../../../identity/principal.ts';
import { dropRights } from '../../../../identity/rights-lock.ts';
import { mintKey } from '../../../../identity/token-format.ts';
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

/** The right to a key is the right to each of its domains. A key for every domain needs the whole organization; `whatToDo` follows the refusal. */
function requireDomains(ctx: Ctx, domainIds: readonly string[], whatToDo: string): void {
  if (ctx.visible === '*') return;
  const needs = 'the permission email.key.admin on the whole organization';
  if (!domainIds.length) forbidden(`a key for every domain of the organization needs ${needs}; ${whatToDo}`);
  for (const id of domainIds) ctx.require(id);
}

/** The secret is shown once. */
export async function mintSendKey(
  tx: Tx,
  ctx: Ctx,
  { name, domainIds }: { name: string; domainIds: readonly string[] },
): Promise<{ key: store.KeyRow; secret: string }> {
  const known = await knownDomains(tx, ctx.org, domainIds);
  for (const id of domainIds) if (!known.has(id)) notFound(`domain ${id} in domainIds`);
  requireDomains(ctx, domainIds, 'name in domainIds the domains that you administer');
  if ((await store.countKeys(tx, ctx.org)) >= maxKeys)
    forbidden(`the organization has ${maxKeys} send keys, as many as it may; revoke one first`, { code: 'quota_reached' });
  const { key: secret, hash } = mintKey('mail');
  const key = await store.insertKey(tx, ctx.org, { name, keyId: newKeyId(), hash, domainIds: [...new Set(domainIds)] });
  return { key, secret };
}

/** The key is refused as soon as this commits, in every cache; its sessions end. 404 before 403. */
export async function revokeSendKey(tx: Tx, ctx: Ctx, id: string): Promise<store.KeyRow> {
  const key = (await store.lockKey(tx, ctx.org, id)) ?? notFound('send key');
  requireDomains(ctx, key.domain_ids, 'ask an owner or admin to revoke it');
  await store.revokeKey(tx, ctx.org, id);
  await dropRights(tx, ctx.app.caches, ctx.org, topics.credential(key.id));
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
