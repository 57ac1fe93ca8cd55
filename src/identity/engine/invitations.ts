import type { OrganizationRole } from '../../../contract/permissions.ts';
import type { Tx } from '../../kernel/db/index.ts';
import { conflict, forbidden, notFound } from '../../kernel/errors.ts';
import { audit } from '../audit.ts';
import { type Principal, topics } from '../principal.ts';
import { accountByEmail } from '../store/accounts.ts';
import {
  deleteInvitation,
  deleteInvitationsFor,
  type InvitationRow,
  insertInvitation,
  lockPresentedInvitation,
} from '../store/invitations.ts';
import { insertMember, memberByEmail } from '../store/members.ts';
import { lockOrg } from '../store/organizations.ts';
import { hashKey, kindOf, mintKey } from '../token-format.ts';
import type { Acting } from './acting.ts';
import { makeAccount } from './membership.ts';
import { mintFirstToken } from './tokens.ts';

const lifetimeDays = 7;

/**
 * An open invitation to a locked organization, and the secret of its link, which is told once. It replaces the open ones of that address.
 * `place` names the organization to whoever invites somebody that belongs to it already.
 */
export async function invite(tx: Tx, by: Acting, wanted: { email: string; role: OrganizationRole }, place: string) {
  const { email, role } = wanted;
  if (await memberByEmail(tx, by.org, email)) conflict(`${email} already belongs to ${place}`);
  await deleteInvitationsFor(tx, by.org, email);
  const { key: secret, hash } = mintKey('inv');
  const invitation = await insertInvitation(tx, by.org, { email, role, hash, days: lifetimeDays });
  await audit(tx, by, 'organization.invitation.create', invitation, { email, role });
  return { invitation, secret };
}

export async function withdrawInvitation(tx: Tx, by: Acting, invitation: InvitationRow): Promise<void> {
  await deleteInvitation(tx, by.org, invitation.id);
  await audit(tx, by, 'organization.invitation.delete', invitation, { email: invitation.email });
}

/** Whoever presents an invitation; with the token of an account if they have one. */
export interface Invited {
  app: Acting['app'];
  principal: Principal | undefined;
  requestId: string;
}

/**
 * Turns an invitation into a membership and a first token. The link proves that its holder was invited, not who they are: so
 * it makes a new account, but never speaks for one that exists; that one's own token must.
 */
export async function joinByInvitation(tx: Tx, { app, principal, requestId }: Invited, secret: string, name?: string) {
  const presented = kindOf(secret) === 'inv' ? await lockPresentedInvitation(tx, hashKey(secret)) : undefined;
  const invitation = presented ?? notFound('invitation, or one that was used or has expired; ask for a new one');
  const org = await lockOrg(tx, invitation.org_id);
  const existing = await accountByEmail(tx, invitation.email);
  if (existing && !principal) conflict(`${invitation.email} already has an account here; accept with a token of that account`);
  if (principal && (principal.user?.id !== existing?.id || principal.scopes.length)) {
    forbidden('the invitation is for another account, or the token is narrowed; accept with an unnarrowed token of the invited account');
  }
  const account = existing ?? (await makeAccount(tx, invitation.email, name));
  if (!(await insertMember(tx, org.id, account.id, invitation.role))) conflict('this account already belongs to the organization');
  await deleteInvitation(tx, org.id, invitation.id);

  const { key, token } = await mintFirstToken(tx, { org: org.id, user: account.id });
  const joined = { org: org.id, user: account, requestId };
  await audit(tx, joined, 'organization.member.join', account, { invitation: invitation.id, role: invitation.role, token: token.id });
  await app.caches.drop(tx, topics.user(org.id, account.id));
  return { userId: account.id, orgSlug: org.slug, key };
}
