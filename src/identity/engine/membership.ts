import type { OrganizationRole } from '../../../contract/permissions.ts';
import type { Tx } from '../../kernel/db/index.ts';
import { conflict } from '../../kernel/errors.ts';
import { audit, auditEach } from '../audit.ts';
import { topics } from '../principal.ts';
import { rightsOf } from '../rights.ts';
import { dropRights } from '../rights-lock.ts';
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
import {
  countMembersAndInvitations,
  countOwners,
  deleteMember,
  insertMember,
  type Member,
  memberByEmail,
  updateRoleOf,
} from '../store/members.ts';
import type { Acting } from './acting.ts';

// Whoever changes who belongs to an organization locks it first (`lockOrg`), and only then looks for the member.

/** The only place that protects the last owner. `deed` is what cannot happen to them, in the words of whoever asks for it. */
async function requireAnotherOwner(tx: Tx, org: string, member: Member, deed: string): Promise<void> {
  if (member.role === 'owner' && (await countOwners(tx, org)) === 1)
    conflict(`the last owner cannot ${deed}; make somebody else an owner first`);
}

/** Refuses one more member or invitation of a locked organization that has as many as there can be. */
export async function requireMemberQuota(tx: Tx, org: string): Promise<void> {
  if ((await countMembersAndInvitations(tx, org)) >= limits.members)
    conflict(`the organization has ${limits.members} members and open invitations, the most there can be; remove or withdraw one first`);
}

/** Gives a member of a locked organization another role than theirs. Their open invitations to roles that they may not give any more end. */
export async function changeMemberRole(tx: Tx, by: Acting, member: Member, role: OrganizationRole): Promise<Member> {
  await requireAnotherOwner(tx, by.org, member, 'be demoted');
  await updateRoleOf(tx, by.org, member.id, role);
  await endUngivableInvitations(tx, by, member.id);
  await audit(tx, by, 'organization.member.update', member, { from: member.role, to: role });
  await dropRights(tx, by.app.caches, by.org, topics.user(by.org, member.id));
  return { ...member, role };
}

/** Ends a membership of a locked organization, with its grants, tokens and open invitations. The account stays: whoever was removed can be invited again.
 *  `changed`: what else that changed, for the audit log. */
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

/** Ends the open invitations of a member but for those to `givable` roles: else a link, perhaps sent to themselves, outlives their rights. */
async function endInvitationsBy(tx: Tx, by: Acting, inviter: string, givable: readonly OrganizationRole[]): Promise<void> {
  const ended = await deleteInvitationsBy(tx, by.org, inviter, givable);
  const told = ended.map(({ id, email }) => ({ id, detail: { email, invitedBy: inviter } }));
  if (told.length) await auditEach(tx, by, 'organization.invitation.delete', told);
}

/** Of a member of a locked organization who has just lost rights: an invitation gives no role that its sender may not give any more. */
export const endUngivableInvitations = async (tx: Tx, by: Acting, inviter: string): Promise<void> =>
  endInvitationsBy(tx, by, inviter, givableRoles((await rightsOf(tx, by.org, inviter)) ?? new Map()));

/** So many members' rights are asked for in one go. */
const invitersPerBatch = 50;

/** The same for everybody who holds a role that has just lost permissions. Members and open invitations together have a bound (`most.members`). */
export async function endUngivableInvitationsOf(tx: Tx, by: Acting, role: string): Promise<void> {
  const inviters = await invitersHolding(tx, by.org, role);
  for (let at = 0; at < inviters.length; at += invitersPerBatch)
    await Promise.all(inviters.slice(at, at + invitersPerBatch).map((inviter) => endUngivableInvitations(tx, by, inviter)));
}

/** Makes somebody a member of a locked organization at once, which only the operator can: `place` names it to them. */
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

/** Whom the operator means by an address: the account that they made, a former member of the organization, or else a new one. */
export const ensureAccount = async (tx: Tx, org: string, email: string): Promise<Account> =>
  (await findVouchedAccount(tx, email)) ??
  (await takeUpAccount(tx, org, email, undefined)) ??
  makeAccount(tx, { email, name: undefined, vouched: true });

/** A new account, never one that exists; without a name it is called by its address. */
export const makeAccount = async (tx: Tx, a: { email: string; name: string | undefined; vouched: boolean }): Promise<Account> =>
  (await insertAccount(tx, { ...a, name: a.name ?? a.email.split('@')[0]! })) ?? conflict('the account was made this moment; try again');

/** An account that belongs nowhere is kept this long for the organization it left, which may take it back. */
const keptDays = 90;
const rowsPerDelete = 1_000;

/** Deletes some of the accounts that left their last organization long ago. False: there are no more of them. */
export const forgetSomeAccounts = async (tx: Tx): Promise<boolean> =>
  (await deleteLeftAccounts(tx, keptDays, rowsPerDelete)) === rowsPerDelete;
