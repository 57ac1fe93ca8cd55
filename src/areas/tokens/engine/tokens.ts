import { audit, auditEach } from '../../../identity/audit.ts';
import type { Acting, ActingByToken } from '../../../identity/engine/acting.ts';
import { lockLineage } from '../../../identity/engine/lineage.ts';
import { checkRoleUses, requireFewIds, type WantedUse } from '../../../identity/engine/scopes.ts';
import { type Principal, topics } from '../../../identity/principal.ts';
import type { ResourceSource } from '../../../identity/resources.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import { atomsOf } from '../../../identity/rules/grants.ts';
import { lockMember } from '../../../identity/store/members.ts';
import { customRoles } from '../../../identity/store/roles.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, unauthenticated } from '../../../kernel/errors.ts';
import { limits } from '../rules/limits.ts';
import { requireBelowMinters, requireGenerationLeft, requireWithinLifetime, withCeilings } from '../rules/lineage.ts';
import {
  countTokens,
  deleteExpired,
  deleteOldestOver,
  insertToken,
  type NewToken,
  renameToken,
  scopesOf,
  type TokenRow,
  updateToken,
} from '../store/tokens.ts';
import { revokeLineage } from './lineage.ts';

const defaultLifetimeSeconds = 90 * 86_400;
/** Tokens that its owner mints end with it at the latest, so it has the longest lifetime that is allowed. */
const firstTokenSeconds = 366 * 86_400;

/** Inserts a token; the key is returned once, and only its hash is stored. */
async function insertMinted(tx: Tx, t: Omit<NewToken, 'start' | 'hash'>) {
  const { key, start, hash } = mintKey('pat');
  return { key, token: await insertToken(tx, { ...t, start, hash }) };
}

export interface WantedToken {
  name: string;
  scope?: readonly WantedUse[];
  expiresIn?: number;
}

/** Who mints: a caller of the API, or a person whose approval is claimed. */
export interface Minting extends Acting {
  principal: Pick<Principal, 'id' | 'session' | 'scopes' | 'grants'>;
}

/** Mints a token from the caller's token: it ends with that one and never exceeds it. `sources` list what a scope can name. */
export async function mintToken(tx: Tx, by: Minting, wanted: WantedToken, sources: readonly ResourceSource[]) {
  const { principal } = by;
  const line = await lockLineage(tx, by.org, principal);
  requireGenerationLeft(line);
  requireWithinLifetime(wanted.expiresIn, line);
  await requireTokenQuota(tx, by.org, by.user.id);
  const scope = wanted.scope ? await checkRoleUses(tx, by, wanted.scope, sources) : [...(principal.scopes[0] ?? [])];
  if (!wanted.scope) requireFewIds(scope);
  const { key, token } = await insertMinted(tx, {
    org: by.org,
    user: by.user.id,
    name: wanted.name,
    scope,
    ceilings: [], // the minters' scopes apply at every lookup, by reference
    expiresIn: wanted.expiresIn ?? defaultLifetimeSeconds,
    ...(principal.session ? {} : { line }),
  });
  await audit(tx, by, 'tokens.token.create', token, { name: token.name, scope });
  await by.app.caches.drop(tx, topics.tokensOf(by.org, by.user.id));
  return { id: token.id, key, expiresAt: token.expires_at };
}

/** Refuses one more token of a member who is at the limit. The member is locked, so that concurrent mints are counted one by one. */
async function requireTokenQuota(tx: Tx, org: string, user: string): Promise<void> {
  if (!(await lockMember(tx, org, user))) unauthenticated('unauthenticated: the token is revoked');
  const { live, over } = await countTokens(tx, org, user, limits.tokens + limits.expiredTokens);
  if (live >= limits.tokens) conflict(`you have ${limits.tokens} tokens here, the most there can be; revoke some first, or let them end`);
  // More than one, so that a program that mints without pause does not delete with every mint.
  if (over >= limits.expiredTokens) await deleteOldestOver(tx, org, user, over - limits.expiredTokens + 100);
}

/** Mints an unnarrowed token for a member, without a minting token: only the operator can. */
export async function mintTokenFor(tx: Tx, by: Acting, t: { user: string; name: string; days: number }) {
  const wanted = { org: by.org, user: t.user, name: t.name, scope: [], ceilings: [], expiresIn: t.days * 86_400 };
  const { key, token } = await insertMinted(tx, wanted);
  await audit(tx, by, 'tokens.token.create', token, { name: token.name, owner: t.user });
  await by.app.caches.drop(tx, topics.tokensOf(by.org, t.user));
  return { key, id: token.id, expires: token.expires_at };
}

/** The first token of a new member. The audit row is that of joining. */
export const mintFirstToken = (tx: Tx, { org, user }: { org: string; user: string }) =>
  insertMinted(tx, { org, user, name: 'first token', scope: [], ceilings: [], expiresIn: firstTokenSeconds });

export interface TokenChange {
  name?: string;
  enabled?: boolean;
  scope?: readonly WantedUse[];
}

/** Whether a change may take rights away, so that its transaction must begin with the token's lock: every change except a new name. */
export const changesRights = (change: TokenChange): boolean => change.enabled !== undefined || change.scope !== undefined;

/** Changes a locked token. */
export async function changeToken(
  tx: Tx,
  by: ActingByToken,
  token: TokenRow,
  change: TokenChange,
  sources: readonly ResourceSource[],
): Promise<TokenRow> {
  const changed = changesRights(change)
    ? await changeRights(tx, by, token, change, sources)
    : await renameToken(tx, by.org, { id: token.id, name: change.name ?? token.name });
  await audit(tx, by, 'tokens.token.update', token, { ...change });
  await by.app.caches.drop(tx, topics.tokensOf(by.org, by.user.id));
  return changed;
}

/** A new scope is bounded by the caller's; a token that is only enabled or disabled also keeps its old bounds. */
async function changeRights(
  tx: Tx,
  by: ActingByToken,
  token: TokenRow,
  change: TokenChange,
  sources: readonly ResourceSource[],
): Promise<TokenRow> {
  const scope = change.scope ? await checkRoleUses(tx, by, change.scope, sources) : token.scope;
  if (change.scope) {
    const [minters, custom] = await Promise.all([scopesOf(tx, by.org, token.minters), customRoles(tx, by.org)]);
    requireBelowMinters(by.principal.grants, minters, scope, atomsOf(custom));
  }
  // The scopes of its minters apply by reference, and so does its own scope while it is unchanged.
  const isBound = token.minters.includes(by.principal.id) || (by.principal.id === token.id && !change.scope);
  const added = isBound ? [] : by.principal.scopes;
  const ceilings = withCeilings(change.scope ? [] : token.ceilings, { scopes: added }).map((s) => [...s]);
  const { id, name, enabled } = { ...token, ...change };
  const changed = await updateToken(tx, by.org, { id, name, enabled, scope, ceilings });
  await dropRights(tx, by.app.caches, by.org, topics.credential(token.id));
  return changed;
}

/** Revokes a locked token of the caller, and its descendants. */
export async function revokeToken(tx: Tx, by: Acting, token: TokenRow): Promise<void> {
  const ended = await revokeLineage(tx, by.org, by.user.id, token.id);
  const told = ended.map(({ id, name }) => ({ id, detail: { name, ...(id === token.id ? {} : { with: token.id }) } }));
  await auditEach(tx, by, 'tokens.token.delete', told);
  // Descendants depend on this topic as well.
  await dropRights(tx, by.app.caches, by.org, topics.credential(token.id));
  await by.app.caches.drop(tx, topics.tokensOf(by.org, by.user.id));
}

/** An expired token stays listed this long, so that its owner sees what ended. */
const listedDays = 90;
const rowsPerDelete = 1_000;

/** Deletes a batch of tokens that expired long ago. False: there are no more. */
export const forgetSomeTokens = async (tx: Tx): Promise<boolean> => (await deleteExpired(tx, listedDays, rowsPerDelete)) === rowsPerDelete;
