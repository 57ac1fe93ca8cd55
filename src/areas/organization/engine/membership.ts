import type { OrganizationRole } from '../../../../contract/permissions.ts';
import { audit, auditEach } from '../../../identity/audit.ts';
import type { Acting } from '../../../identity/engine/acting.ts';
import { topics } from '../../../identity/principal.ts';
import { rightsOf } from '../../../identity/rights.ts';
import { dropRights } from '../../../identity/rights-lock.ts';
import type { Member } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { limits } from '../rules/limits.ts';
import { givableRoles } from '../rules/roles.ts';
import {
  type Account,
  deleteLeftAccounts,
  findVouchedAccount,
  insertAccount,
  leaveAccount,
  lockAccount,
  takeUpAccount,
} from '../store/accounts.ts';
import { deleteInvitationsBy, deleteInvitationsFor, invitersHolding } from '../store/invitations.ts';
import { countMembersAndInvitations, countOwners, deleteMember, insertMember, memberByEmail, updateRoleOf } from '../store/members.ts';

// Every change of an organization's members locks the organization first (`lockOrg`), and only then reads the member.

/** The only place that protects the last owner. `deed` completes the sentence of the refusal. */
async function requireAnotherOwner(tx: Tx, org: string, member: Member, deed: string): Promise<void> {
  if (member.role === 'owner' && (await countOwners(tx, org)) === 1)
    conflict(`the last owner cannot ${deed}; make somebody else an owner first`);
}

/** Refuses one more member or invitation of a locked organization that is at its limit. */
export async function requireMemberQuota(tx: Tx, org: string): Promise<void> {
  if ((await countMembersAndInvitations(tx, org)) >= limits.members)
    conflict(`the organization has ${limits.members} members and open invitations, the most there can be; remove or withdraw one first`);
}

/** Changes the role of a member of a locked organization. The member's open invitations to roles that they may no longer give end. */
export async function changeMemberRole(tx: Tx, by: Acting, member: Member, role: OrganizationRole): Promise<Member> {
  await requireAnotherOwner(tx, by.org, member, 'be demoted');
  await updateRoleOf(tx, by.org, member.id, role);
  await endUngivableInvitations(tx, by, member.id);
  await audit(tx, by, 'organization.member.update', member, { from: member.role, to: role });
  await dropRights(tx, by.app.caches, by.org, topics.user(by.org, member.id));
  return { ...member, role };
}

/**
 * Ends a membership of a locked organization, with its grants, tokens and open invitations. The account stays: a removed member can be
 * invited again. `changed`: what else changed, for the audit log.
 */
export async function endMembership(
  tx: Tx,
  by: Acting,
  member: Member,
  deed: 'leave' | 'be removed',
  changed: Record<string, unknown> = {},
): Promise<void> {
  await requireAnotherOwner(tx, by.org, member, deed);
  await deleteMember(tx, by.org, member.id);
  await endInvitationsBy(tx, by, member.id, []);
  await lockAccount(tx, member.id);
  await leaveAccount(tx, member.id, by.org);
  await audit(tx, by, 'organization.member.remove', member, { email: member.email, role: member.role, ...changed });
  await dropRights(tx, by.app.caches, by.org, topics.user(by.org, member.id));
}

/**
 * Ends the open invitations of a member except those to `givable` roles. Otherwise a link, perhaps sent to the inviter's own address, would
 * outlive the inviter's rights.
 */
async function endInvitationsBy(tx: Tx, by: Acting, inviter: string, givable: readonly OrganizationRole[]): Promise<void> {
  const ended = await deleteInvitationsBy(tx, by.org, inviter, givable);
  const told = ended.map(({ id, email }) => ({ id, detail: { email, invitedBy: inviter } }));
  if (told.length) await auditEach(tx, by, 'organization.invitation.delete', told);
}

/** For a member of a locked organization who has just lost rights: ends invitations to roles that the member may no longer give. */
export const endUngivableInvitations = async (tx: Tx, by: Acting, inviter: string): Promise<void> =>
  endInvitationsBy(tx, by, inviter, givableRoles((await rightsOf(tx, by.org, inviter)) ?? new Map()));

/** Members whose rights are read concurrently. */
const invitersPerBatch = 50;

/** The same for every holder of a role that has just lost permissions. Their number is bounded by `limits.members`. */
export async function endUngivableInvitationsOf(tx: Tx, by: Acting, role: string): Promise<void> {
  const inviters = await invitersHolding(tx, by.org, role);
  for (let at = 0; at < inviters.length; at += invitersPerBatch)
    await Promise.all(inviters.slice(at, at + invitersPerBatch).map((inviter) => endUngivableInvitations(tx, by, inviter)));
}

/**
 * Adds a member to a locked organization without an invitation, which only the operator can. `place` names the organization in refusals.
 */
export async function addMember(tx: Tx, by: Acting, newcomer: { email: string; role: OrganizationRole }, place: string): Promise<Account> {
  const { email, role } = newcomer;
  if (await memberByEmail(tx, by.org, email)) conflict(`${email} already belongs to ${place}`);
  const account = await ensureAccount(tx, by.org, email);
  await deleteInvitationsFor(tx, by.org, email);
  await requireMemberQuota(tx, by.org);
  await insertMember(tx, by.org, account.id, role);
  await audit(tx, by, 'organization.member.add', account, { email, role });
  await by.app.caches.drop(tx, topics.user(by.org, account.id));
  return account;
}

/** The account that the operator means by an address: the one that the operator made, that of a former member, or a new one. */
export const ensureAccount = async (tx: Tx, org: string, email: string): Promise<Account> =>
  (await findVouchedAccount(tx, email)) ??
  (await takeUpAccount(tx, org, email, undefined)) ??
  makeAccount(tx, { email, name: undefined, vouched: true });

/** Always a new account; without a name it is called by its address. */
export const makeAccount = async (tx: Tx, a: { email: string; name: string | undefined; vouched: boolean }): Promise<Account> =>
  (await insertAccount(tx, { ...a, name: a.name ?? a.email.split('@')[0]! })) ?? conflict('the account was made this moment; try again');

/** For how long an account without an organization is kept for the organization that it left, which may take it back. */
const keptDays = 90;
const rowsPerDelete = 1_000;

/** Deletes a batch of accounts that left their last organization long ago. False: there are no more. */
export const forgetSomeAccounts = async (tx: Tx): Promise<boolean> =>
  (await deleteLeftAccounts(tx, keptDays, rowsPerDelete)) === rowsPerDelete;
