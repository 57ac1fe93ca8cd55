import { type Loader, topics } from '../../../identity/principal.ts';
import { sourceByHash } from '../store/sources.ts';

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
