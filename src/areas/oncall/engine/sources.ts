import { type Loader, topics } from '../../../identity/principal.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { isAtLimit, limitOf } from '../store/limits.ts';
import { insertSource, revokeSource as revoke, type SourceRow, sourceByHash } from '../store/sources.ts';

/** What the principal cache keeps of an alert source. */
export interface SourceAccess {
  sourceId: string;
  serviceId: string;
}

export const loadSource: Loader = async (tx, hash) => {
  const source = await sourceByHash(tx, hash);
  if (!source) return undefined;
  const access: SourceAccess = { sourceId: source.id, serviceId: source.service_id };
  return {
    ttlMs: source.revoked ? 0 : Number.POSITIVE_INFINITY,
    topics: [topics.org(source.org_id), topics.credential(source.id)],
    principal: source.revoked
      ? undefined
      : {
          id: source.id,
          org: { id: source.org_id, slug: '' },
          entitlements: new Set(),
          grants: new Map(),
          scopes: [],
          customRoles: {},
          access,
        },
  };
};

/** The token is returned only here; the database keeps a hash. */
export async function createSource(
  tx: Tx,
  org: string,
  wanted: { name: string; serviceId: string },
): Promise<SourceRow & { token: string }> {
  if (await isAtLimit(tx, org, 'sources'))
    conflict(`the organization has ${limitOf('sources')} alert sources, which is the most; revoke one first`);
  const { key: token, hash } = mintKey('src');
  return { ...(await insertSource(tx, org, { ...wanted, hash })), token };
}

/** After the commit every process refuses the token. */
export async function revokeSource(tx: Tx, caches: Caches, org: string, id: string): Promise<void> {
  await revoke(tx, org, id);
  await dropRights(tx, caches, org, topics.credential(id));
}
