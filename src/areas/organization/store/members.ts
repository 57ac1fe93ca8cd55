import Type from 'typebox';
import type { OrganizationRole } from '../../../../contract/permissions.ts';
import { lockForRemoval, type Member, MemberRow, memberColumns, Role } from '../../../identity/store/members.ts';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import type { Pagination } from '../../../kernel/pagination.ts';

const MembershipRow = Type.Object({ slug: Type.String(), name: Type.String(), role: Role });

/** The organizations of an account, this one first, the rest by slug. */
export const membershipsOf = (tx: Tx, user: string, first: string) => rows(tx, MembershipRow)`
  select o.slug, o.name, m.role from identity.member m join identity.org o on o.id = m.org_id
   where m.user_id = ${user} order by m.org_id <> ${first}, o.slug limit 1000`;

/** Undefined: no member of this organization has this address. */
export const memberByEmail = (tx: Tx, org: string, email: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and lower(u.email) = lower(${email})`;

/** The owner with the longest membership. */
export const firstOwner = (tx: Tx, org: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and m.role = 'owner' order by m.joined_at, m.user_id limit 1`;

/** The newest account first. */
export const listMembers = (tx: Tx, org: string, { limit, after }: Pagination): Promise<Member[]> => rows(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and (${after}::text is null or m.user_id < ${after}) order by m.user_id desc limit ${limit + 1}`;

/** Members and open invitations together. */
export const countMembersAndInvitations = (tx: Tx, org: string): Promise<number> => run(tx)`
  select 1 from identity.member where org_id = ${org}
   union all select 1 from identity.invitation where org_id = ${org} and expires_at > kernel.now()`;

export const countOwners = (tx: Tx, org: string): Promise<number> =>
  run(tx)`select 1 from identity.member where org_id = ${org} and role = 'owner'`;

/** False: a member already. */
export async function insertMember(tx: Tx, org: string, user: string, role: OrganizationRole): Promise<boolean> {
  hint(tx, org, 'organization.member');
  const made = await run(tx)`
    insert into identity.member (org_id, user_id, role, joined_at) values (${org}, ${user}, ${role}, kernel.now()) on conflict do nothing`;
  return made > 0;
}

export const updateRoleOf = (tx: Tx, org: string, user: string, role: OrganizationRole) =>
  run(tx)`update identity.member set role = ${role} where org_id = ${org} and user_id = ${user}`;

export async function deleteMember(tx: Tx, org: string, user: string): Promise<void> {
  await lockForRemoval(tx, org, user);
  await run(tx)`delete from identity.member where org_id = ${org} and user_id = ${user}`;
}
