import type { OrganizationRole } from '../../../../contract/permissions.ts';
import { audit } from '../../../identity/audit.ts';
import type { Acting } from '../../../identity/engine/acting.ts';
import { type Principal, topics } from '../../../identity/principal.ts';
import type { Grants } from '../../../identity/rules/grants.ts';
import { memberOf } from '../../../identity/store/members.ts';
import { findOrg, lockOrg, type OrgRow } from '../../../identity/store/organizations.ts';
import { hashKey, kindOf, mintKey } from '../../../identity/token-format.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, forbidden, notFound } from '../../../kernel/errors.ts';
import { mintFirstToken } from '../../tokens/index.ts';
import { holdsRole } from '../rules/roles.ts';
import { type Account, findFormerMember, hasVouchedMember, takeUpAccount } from '../store/accounts.ts';
import {
  deleteExpiredInvitations,
  deleteInvitation,
  deleteInvitationsFor,
  findInvitationsFor,
  findPresentedInvitation,
  type InvitationRow,
  insertInvitation,
} from '../store/invitations.ts';
import { insertMember, memberByEmail } from '../store/members.ts';
import { makeAccount, requireMemberQuota } from './membership.ts';

const lifetimeDays = 7;

interface InvitationOptions {
  /** Names the organization in the refusal for an address that is already a member. */
  place: string;
  /** The caller's rights. Undefined: the operator, who holds every role. */
  held: Grants | undefined;
}

/**
 * Makes an invitation to a locked organization, and the secret of its link, which is shown once. It replaces the open invitations of that
 * address, if the caller may withdraw them.
 */
export async function invite(tx: Tx, by: Acting, wanted: { email: string; role: OrganizationRole }, { place, held }: InvitationOptions) {
  const { email, role } = wanted;
  if (await memberByEmail(tx, by.org, email)) conflict(`${email} already belongs to ${place}`);
  const replaced = await findInvitationsFor(tx, by.org, email);
  requireReplaceable(held, replaced);
  await deleteInvitationsFor(tx, by.org, email);
  await requireMemberQuota(tx, by.org);
  const { key: secret, hash } = mintKey('inv');
  const invitation = await insertInvitation(tx, by.org, { email, role, hash, days: lifetimeDays, invitedBy: by.principal && by.user.id });
  for (const old of replaced) await audit(tx, by, 'organization.invitation.delete', old, { email: old.email, replacedBy: invitation.id });
  await audit(tx, by, 'organization.invitation.create', invitation, { email, role });
  return { invitation, secret };
}

/** A caller replaces only invitations that they may withdraw. */
function requireReplaceable(held: Grants | undefined, open: readonly InvitationRow[]) {
  const foreign = held && open.find(({ role }) => !holdsRole(held, role));
  if (foreign)
    conflict(
      `${foreign.email} has an open invitation to the role ${foreign.role}, and only a holder of that role can end it; ask one to withdraw it first`,
    );
}

export async function withdrawInvitation(tx: Tx, by: Acting, invitation: InvitationRow): Promise<void> {
  await deleteInvitation(tx, by.org, invitation.id);
  await audit(tx, by, 'organization.invitation.delete', invitation, { email: invitation.email });
}

/** The person who accepts an invitation, with the token of an account if they have one, or signed in to it. */
export interface Invited {
  app: Acting['app'];
  principal: Principal | undefined;
  /** Signed in, in a browser. */
  account?: Account | undefined;
  requestId: string;
}

/** Turns an invitation into a membership and a first token. */
export async function joinByInvitation(tx: Tx, by: Invited, secret: string, name?: string) {
  const joined = await acceptInvitation(tx, by, secret, name);
  const { key, token } = await mintFirstToken(tx, { org: joined.org.id, user: joined.account.id });
  await recordJoin(tx, by, joined, { token: token.id });
  return { userId: joined.account.id, orgSlug: joined.org.slug, key };
}

/** The same in a browser: the session of the new member is their first credential, so there is no token. */
export async function joinInBrowser(tx: Tx, by: Omit<Invited, 'principal'>, secret: string, name?: string) {
  const joined = await acceptInvitation(tx, { ...by, principal: undefined }, secret, name);
  await recordJoin(tx, by, joined, {});
  return { account: joined.account, orgSlug: joined.org.slug };
}

interface Joined {
  account: Account;
  org: OrgRow;
  invitation: { id: string; role: OrganizationRole };
}

/**
 * The link proves that its holder was invited, not who the holder is, because the inviter sees it too. So it makes a new account, or reuses
 * that of a former member, and never acts for an account that is in use.
 */
async function acceptInvitation(tx: Tx, by: Invited, secret: string, name: string | undefined): Promise<Joined> {
  const invitation = await lockInvitation(tx, secret);
  const { org_id: orgId, email, role } = invitation;
  const org = await findOrg(tx, orgId);
  const account = await findAccountFor(tx, by, invitation, name);
  if (await memberByEmail(tx, orgId, email)) conflict(`${email} already belongs to the organization`);
  await insertMember(tx, orgId, account.id, role);
  await deleteInvitation(tx, orgId, invitation.id);
  return { account, org, invitation };
}

async function recordJoin(
  tx: Tx,
  by: Pick<Invited, 'app' | 'requestId'>,
  { account, org, invitation }: Joined,
  detail: { token?: string },
) {
  const joined = { org: org.id, user: account, requestId: by.requestId };
  await audit(tx, joined, 'organization.member.join', account, { invitation: invitation.id, role: invitation.role, ...detail });
  await by.app.caches.drop(tx, topics.user(org.id, account.id));
}

/** What the holder of a link is invited to. Changes nothing: programs that scan mail follow links. */
export async function lookAtInvitation(tx: Tx, secret: string) {
  const hash = kindOf(secret) === 'inv' ? hashKey(secret) : undefined;
  const seen = (hash && (await findPresentedInvitation(tx, hash))) || unknownInvitation();
  const { org_id: org, email, role, invited_by } = seen;
  return {
    org: await findOrg(tx, org),
    email,
    role,
    inviter: invited_by ? await memberOf(tx, org, invited_by) : undefined,
    /** The operator made an account for the address, and it is in use: only that one joins. */
    hasAccount: await hasVouchedMember(tx, email),
    formerMember: await findFormerMember(tx, org, email),
  };
}

const unknownInvitation = () => notFound('invitation, or one that was used or has expired; ask for a new one');

/** The organization is locked first, as for every change of members: of two concurrent uses of a link, the second finds it used. */
async function lockInvitation(tx: Tx, secret: string) {
  const hash = kindOf(secret) === 'inv' ? hashKey(secret) : undefined;
  const seen = hash && (await findPresentedInvitation(tx, hash));
  if (seen) await lockOrg(tx, seen.org_id);
  const invitation = seen && (await findPresentedInvitation(tx, hash));
  return invitation || unknownInvitation();
}

/** The joining account: that of the presented token or session, or the one that the link leads to. */
async function findAccountFor(
  tx: Tx,
  { principal, account }: Pick<Invited, 'principal' | 'account'>,
  { email, org_id }: { email: string; org_id: string },
  name: string | undefined,
): Promise<Account> {
  if (principal) {
    const user = principal.scopes.length ? undefined : principal.user;
    if (user?.email.toLowerCase() === email.toLowerCase()) return user;
    forbidden('the invitation is for another account, or the token is narrowed; accept with an unnarrowed token of the invited account');
  }
  if (account) {
    if (account.email.toLowerCase() === email.toLowerCase()) return account;
    forbidden(`the invitation is for ${email}, and you are signed in as ${account.email}; sign out, and open the link again`);
  }
  if (await hasVouchedMember(tx, email))
    conflict(`${email} already has an account here; sign in to it and open the link, or accept with a token of it`);
  return (await takeUpAccount(tx, org_id, email, name)) ?? makeAccount(tx, { email, name, vouched: false });
}

const rowsPerDelete = 1_000;

/** Deletes a batch of expired invitations. False: there are no more. */
export const forgetSomeInvitations = async (tx: Tx): Promise<boolean> =>
  (await deleteExpiredInvitations(tx, rowsPerDelete)) === rowsPerDelete;
