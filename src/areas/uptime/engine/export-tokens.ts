import { type Loader, topics } from '../../../identity/principal.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import * as store from '../store/export-tokens.ts';

const maxTokens = 100;

/** The key is shown once. */
export async function mintExportToken(tx: Tx, org: string, name: string): Promise<store.TokenRow & { key: string }> {
  if ((await store.countTokens(tx, org)) >= maxTokens)
    conflict(`the organization has ${maxTokens} export tokens, which is the most; revoke one first`);
  const { key, hash } = mintKey('scrape');
  return { ...(await store.insertToken(tx, org, name, hash)), key };
}

/** The token is refused once this commits, also where another process has it cached. */
export async function revokeExportToken(tx: Tx, caches: Caches, org: string, id: string): Promise<store.TokenRow> {
  const token = (await store.revokeToken(tx, org, id)) ?? notFound('export token');
  await caches.drop(tx, topics.credential(token.id));
  return token;
}

export const isLiveToken = store.isLive;

/** Notes that the token was used for a scrape. False: it was revoked meanwhile, so the gathered snapshot must not be sent. */
export async function useExportToken(tx: Tx, org: string, id: string): Promise<boolean> {
  if (!(await store.isLive(tx, org, id))) return false;
  await store.touchToken(tx, org, id);
  return true;
}

export const loadExportToken: Loader = async (tx, hash) => {
  const token = await store.tokenByHash(tx, hash);
  if (!token) return undefined;
  const org = await store.organizationOf(tx, token.org_id);
  return {
    ttlMs: token.revoked ? 0 : Number.POSITIVE_INFINITY,
    topics: [topics.org(token.org_id), topics.credential(token.id)],
    principal: token.revoked
      ? undefined
      : {
          id: token.id,
          org: { id: token.org_id, slug: org.slug },
          entitlements: new Set(org.entitlements),
          grants: new Map(),
          scopes: [],
          customRoles: {},
        },
  };
};
