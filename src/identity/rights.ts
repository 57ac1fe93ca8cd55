import type { Entitlement } from '../../contract/common.ts';
import type { Tx } from '../kernel/db/index.ts';
import { type Loaded, type Loader, topics } from './principal.ts';
import { type Grants, grantsOf, narrow, type RoleUse } from './rules/grants.ts';
import { findRights, type PrincipalRow, principalByHash, principalByToken, shareUnmoved } from './store/principals.ts';

/** A member's current rights, for credentials that act for a person without being a token. Undefined: no longer a member. */
export async function rightsOf(tx: Tx, org: string, user: string): Promise<Grants | undefined> {
  const found = await findRights(tx, org, user);
  return found && memberGrants(found);
}

/** Behind a personal token. */
export const loadToken: Loader = async (tx, hash) => loaded(await principalByHash(tx, hash));

/** For credentials that a token minted and that never exceed it. Undefined: the token is revoked. */
export const loadTokenById = async (tx: Tx, org: string, id: string): Promise<Loaded | undefined> =>
  loaded(await principalByToken(tx, org, id));

const memberGrants = ({ role, grants, custom_roles }: Pick<PrincipalRow, 'role' | 'grants' | 'custom_roles'>): Grants =>
  grantsOf([{ role, resourceIds: [] }, ...grants], custom_roles);

function loaded(found: PrincipalRow | undefined): Loaded | undefined {
  if (!found) return undefined;
  const dropOn = [
    topics.org(found.org_id),
    topics.roles(found.org_id),
    topics.user(found.org_id, found.user_id),
    ...[found.token_id, ...found.minters].map(topics.credential),
  ];
  if (!found.enabled) return { principal: undefined, ttlMs: 0, topics: dropOn };

  const scopes = distinct([found.scope, ...found.ceilings, ...found.above.flat()].filter((s) => s.length));
  return {
    ttlMs: found.ttl_ms,
    topics: dropOn,
    shareUnchanged: (tx, locks) => shareUnmoved(tx, found, locks),
    principal: {
      id: found.token_id,
      org: { id: found.org_id, slug: found.org_slug },
      entitlements: new Set(found.entitlements as Entitlement[]),
      user: { id: found.user_id, email: found.email, name: found.name },
      grants: narrow(memberGrants(found), scopes, found.custom_roles),
      scopes,
      customRoles: found.custom_roles,
    },
  };
}

/** Scopes in a lineage repeat: a token mostly has the scope of its minter. */
const distinct = (scopes: RoleUse[][]): RoleUse[][] => [...new Map(scopes.map((s) => [JSON.stringify(s), s])).values()];
