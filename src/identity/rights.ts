import type { Entitlement } from '../../contract/common.ts';
import type { OrganizationRole } from '../../contract/permissions.ts';
import type { Tx } from '../kernel/db/index.ts';
import { Refusal } from '../kernel/errors.ts';
import { type Loaded, type Loader, topics } from './principal.ts';
import { type Grants, grantsOf, narrow, type RoleUse } from './rules/grants.ts';
import { hasSecondFactor } from './rules/sign-in-methods.ts';
import { findRights, type PrincipalRow, principalByHash, principalByToken, shareUnmoved } from './store/principals.ts';
import { type SessionRow, sessionByHash, sessionById } from './store/sessions.ts';

/** A member's current rights, for credentials that act for a person without being a token. Undefined: no longer a member. */
export async function rightsOf(tx: Tx, org: string, user: string): Promise<Grants | undefined> {
  const found = await findRights(tx, org, user);
  return found && memberGrants(found);
}

/** Behind a personal token. */
export const loadToken: Loader = async (tx, hash) => loaded(await principalByHash(tx, hash));

/** For credentials that a token or a session minted and that never exceed it. Undefined: it is revoked, or over. */
export const loadMinter = async (tx: Tx, org: string, id: string): Promise<Loaded | undefined> =>
  isSessionId(id) ? loadedSession(await sessionById(tx, org, id)) : loaded(await principalByToken(tx, org, id));

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
      role: found.role as OrganizationRole,
      requiresSecondFactor: found.requires_second_factor,
      grants: narrow(memberGrants(found), scopes, found.custom_roles),
      scopes,
      customRoles: found.custom_roles,
    },
  };
}

const isSessionId = (id: string) => id.startsWith('ses_');

/** Behind a session: its person's rights, in the organization that the request names, or in the only one. */
export const loadSession: Loader = async (tx, hash, orgSlug) => loadedSession(await sessionByHash(tx, hash, orgSlug ?? null));

function loadedSession([found, another]: SessionRow[]): Loaded | undefined {
  if (!found) return undefined;
  const own = topics.session(found.user_id, found.id);
  const { org_id, org_slug, role } = found;
  if (org_id === null || org_slug === null || role === null) return { principal: undefined, refusal: noMember(), ttlMs: 0, topics: [own] };
  if (another) return { principal: undefined, refusal: severalOrganizations(), ttlMs: 0, topics: [own] };
  if (found.requires_second_factor && !hasSecondFactor(found.methods))
    return { principal: undefined, refusal: secondFactorMissing(), ttlMs: 0, topics: [own, topics.org(org_id)] };
  return actingIn({ ...found, org_id, org_slug, role }, own);
}

type ActingSession = SessionRow & { org_id: string; org_slug: string; role: string };

function actingIn(found: ActingSession, own: string): Loaded {
  const isFresh = found.fresh_ms > 0;
  return {
    // Read again when it is fresh no more.
    ttlMs: isFresh ? Math.min(found.ttl_ms, found.fresh_ms) : found.ttl_ms,
    topics: [topics.org(found.org_id), topics.roles(found.org_id), topics.user(found.org_id, found.user_id), own],
    shareUnchanged: (tx, locks) => shareUnmoved(tx, found, locks),
    principal: {
      id: found.id,
      org: { id: found.org_id, slug: found.org_slug },
      entitlements: new Set((found.entitlements ?? []) as Entitlement[]),
      user: { id: found.user_id, email: found.email, name: found.name },
      role: found.role as OrganizationRole,
      requiresSecondFactor: found.requires_second_factor ?? false,
      session: { methods: found.methods, isFresh, freshUntil: found.fresh_until },
      grants: memberGrants(found),
      scopes: [],
      customRoles: found.custom_roles,
    },
  };
}

const noMember = () =>
  new Refusal(403, 'organization_mismatch', 'organization mismatch: you are no member of the organization that X-Organization names');

const severalOrganizations = () =>
  new Refusal(400, 'invalid', 'you belong to several organizations: name one by its slug in the header X-Organization');

const secondFactorMissing = () =>
  new Refusal(
    403,
    'second_factor_required',
    'the organization asks for a second factor: prove yours on the page /sign-in/again, or add a passkey or an authenticator app on the page /account',
  );

/** Scopes in a lineage repeat: a token mostly has the scope of its minter. */
const distinct = (scopes: RoleUse[][]): RoleUse[][] => [...new Map(scopes.map((s) => [JSON.stringify(s), s])).values()];
