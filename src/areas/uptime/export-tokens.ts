import { type Loader, topics } from '../../identity/principal.ts';
import { organizationOf, tokenByHash } from './store/export-tokens.ts';

export const loadExportToken: Loader = async (tx, hash) => {
  const token = await tokenByHash(tx, hash);
  if (!token) return undefined;
  const org = await organizationOf(tx, token.org_id);
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
