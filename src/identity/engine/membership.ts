import type { OrganizationRole } from '../../../contract/permissions.ts';
import type { Tx } from '../../kernel/db/index.ts';
import { conflict } from '../../kernel/errors.ts';
import { audit } from '../audit.ts';
import { topics } from '../principal.ts';
import { type Account, accountByEmail, insertAccount } from '../store/accounts.ts';
import { deleteInvitationsFor } from '../store/invitations.ts';
import { countOwners, deleteMember, insertMember, type Member, updateRoleOf } from '../store/members.ts';
import type { Acting } from './acting.ts';

// Whoever changes who belongs to an organization locks it first (`lockOrg`), and only then looks for the member.

/** The only place that protects the last owner. `deed` is what cannot happen to them, in the words of whoever asks for it. */
async function requireAnotherOwner(tx: Tx, org: string, member: Member, deed: string): Promise<void> {
  if (member.role === 'owner' && (await countOwners(tx, org)) === 1)
    conflict(`the last owner cannot ${deed}; make somebody else an owner first`);
}

/** Gives a member of a locked organization another role than theirs. */
export async function changeMemberRole(tx: Tx, by: Acting, member: Member, role: OrganizationRole): Promise<Member> {
  await requireAnotherOwner(tx, by.org, member, 'be demoted');
  await updateRoleOf(tx, by.org, member.id, role);
  await audit(tx, by, 'organization.member.update', member, { from: member.role, to: role });
  await by.app.caches.drop(tx, topics.user(by.org, member.id));
  return { ...member, role };
}

/** Ends a membership of a locked organization, with its grants and tokens. `changed`: what else that changed, for the audit log. */
export async function endMembership(
  tx: Tx,
  by: Acting,
  member: Member,
  deed: 'leave' | 'be removed',
  changed: Record<string, unknown> = {},
): Promise<void> {
  await requireAnotherOwner(tx, by.org, member, deed);
  await deleteMember(tx, by.org, member.id);
  await audit(tx, by, 'organization.member.remove', member, { email: member.email, role: member.role, ...changed });
  await by.app.caches.drop(tx, topics.user(by.org, member.id));
}

/** Makes somebody a member of a locked organization at once, which only the operator can: `place` names it to them. */
export async function addMember(tx: Tx, by: Acting, newcomer: { email: string; role: OrganizationRole }, place: string): Promise<Account> {
  const { email, role } = newcomer;
  const account = await ensureAccount(tx, email);
  if (!(await insertMember(tx, by.org, account.id, role))) conflict(`${email} already belongs to ${place}`);
  await deleteInvitationsFor(tx, by.org, email);
  await audit(tx, by, 'organization.member.add', account, { email, role });
  await by.app.caches.drop(tx, topics.user(by.org, account.id));
  return account;
}

/** The account of this address, made if there is none. */
export const ensureAccount = async (tx: Tx, email: string): Promise<Account> => (await accountByEmail(tx, email)) ?? makeAccount(tx, email);

/** A new account, never one that exists; without a name it is called by its address. */
export const makeAccount = async (tx: Tx, email: string, name = email.split('@')[0]!): Promise<Account> =>
  (await insertAccount(tx, email, name)) ?? conflict('the account was made this moment; try again');
