import { audit } from '../audit.ts';
import type { OpenCtx } from '../context.ts';
import { topics } from '../principal.ts';
import { hashKey, kindOf, mintKey } from '../token-format.ts';
import { insertToken } from '../store/tokens.ts';
import type { Tx } from '../../kernel/db.ts';
import { conflict, forbidden, notFound } from '../../kernel/errors.ts';
import * as store from '../store/organizations.ts';

/** Everything its owner mints hangs on it and ends with it at the latest, so it has the longest life there is. */
const firstTokenSeconds = 366 * 86_400;

/**
 * Turns an invitation into a membership and a first token. The link proves that its holder was invited, not who they are: so
 * it makes a new account, but never speaks for one that exists; that one's own token must.
 */
export async function join(tx: Tx, ctx: Pick<OpenCtx, 'app' | 'principal' | 'requestId'>, secret: string, name?: string) {
  const presented = kindOf(secret) === 'inv' ? await store.presentedInvitation(tx, hashKey(secret)) : undefined;
  const invitation = presented ?? notFound('invitation, or one that was used or has expired; ask for a new one');
  const org = await store.lockOrg(tx, invitation.org_id);
  const existing = await store.accountByEmail(tx, invitation.email);
  if (existing && !ctx.principal) conflict(`${invitation.email} already has an account here; accept with a token of that account`);
  if (ctx.principal && (ctx.principal.user?.id !== existing?.id || ctx.principal.scopes.length)) {
    forbidden('the invitation is for another account, or the token is narrowed; accept with an unnarrowed token of the invited account');
  }
  const account =
    existing ??
    (await store.insertAccount(tx, invitation.email, name ?? invitation.email.split('@')[0]!)) ??
    conflict('the account was made this moment; try again');
  if (!(await store.insertMember(tx, org.id, account.id, invitation.role))) conflict('this account already belongs to the organization');
  await store.deleteInvitation(tx, org.id, invitation.id);

  const { key, start, hash } = mintKey('pat');
  const token = await insertToken(tx, {
    org: org.id,
    user: account.id,
    name: 'first token',
    start,
    hash,
    scope: [],
    ceilings: [],
    expiresIn: firstTokenSeconds,
  });
  const actor = { org: org.id, user: account, requestId: ctx.requestId };
  await audit(tx, actor, 'organization.member.join', account, { invitation: invitation.id, role: invitation.role, token: token.id });
  await ctx.app.caches.drop(tx, topics.user(org.id, account.id));
  return { userId: account.id, orgSlug: org.slug, key };
}
