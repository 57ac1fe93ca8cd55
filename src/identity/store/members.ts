import Type, { type Static } from 'typebox';
import type { OrganizationRole } from '../../../contract/permissions.ts';
import { row, rows, run, type Tx } from '../../kernel/db/index.ts';
import type { Pagination } from '../../kernel/pagination.ts';
import { sql } from '../../kernel/sql.ts';

export const Role = Type.Unsafe<OrganizationRole>({ type: 'string' });

const MemberRow = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String(), role: Role, joined_at: Type.String() });
/** `id` is the account's: the same in every organization. */
export type Member = Static<typeof MemberRow>;

const columns = sql`u.id, u.email, u.name, m.role, m.joined_at`;

const MembershipRow = Type.Object({ slug: Type.String(), name: Type.String(), role: Role });

/** The organizations of an account, this one first, the rest by slug. */
export const membershipsOf = (tx: Tx, user: string, first: string) => rows(tx, MembershipRow)`
  select o.slug, o.name, m.role from identity.member m join identity.org o on o.id = m.org_id
   where m.user_id = ${user} order by m.org_id <> ${first}, o.slug limit 1000`;

/** A member of the organization; undefined: not a member, or no longer. */
export const memberOf = (tx: Tx, org: string, user: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} and m.user_id = ${user}`;

/**
 * The same for a member who is to be paged: the member cannot be removed until this transaction ends, and a removal in progress is waited
 * for.
 */
export const memberToPage = (tx: Tx, org: string, user: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} and m.user_id = ${user}
     for key share of m`;

/** Undefined: no member of this organization has this address. */
export const memberByEmail = (tx: Tx, org: string, email: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and lower(u.email) = lower(${email})`;

/** The owner with the longest membership. */
export const firstOwner = (tx: Tx, org: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and m.role = 'owner' order by m.joined_at, m.user_id limit 1`;

/** Owners, longest membership first. */
export const ownersOf = (tx: Tx, org: string, limit: number): Promise<Member[]> => rows(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and m.role = 'owner' order by m.joined_at, m.user_id limit ${limit}`;

/** The newest account first. */
export const listMembers = (tx: Tx, org: string, { limit, after }: Pagination): Promise<Member[]> => rows(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and (${after}::text is null or m.user_id < ${after}) order by m.user_id desc limit ${limit + 1}`;

/** All of them: an organization has a thousand at most. */
export const allMembers = (tx: Tx, org: string): Promise<Member[]> => rows(tx, MemberRow)`
  select ${columns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} order by m.user_id desc`;

export const membersOf = async (tx: Tx, org: string): Promise<ReadonlyMap<string, Member>> =>
  new Map((await allMembers(tx, org)).map((member) => [member.id, member]));

/** Members and open invitations together. */
export const countMembersAndInvitations = (tx: Tx, org: string): Promise<number> => run(tx)`
  select 1 from identity.member where org_id = ${org}
   union all select 1 from identity.invitation where org_id = ${org} and expires_at > kernel.now()`;

export const countOwners = (tx: Tx, org: string): Promise<number> =>
  run(tx)`select 1 from identity.member where org_id = ${org} and role = 'owner'`;

/** Until the transaction ends, the member cannot be removed, and is given nothing else. False: no member. */
export const lockMember = async (tx: Tx, org: string, user: string): Promise<boolean> =>
  (await run(tx)`select 1 from identity.member where org_id = ${org} and user_id = ${user} for no key update`) > 0;

/** False: a member already. */
export const insertMember = async (tx: Tx, org: string, user: string, role: OrganizationRole): Promise<boolean> =>
  (await run(tx)`
    insert into identity.member (org_id, user_id, role, joined_at) values (${org}, ${user}, ${role}, kernel.now()) on conflict do nothing`) >
  0;

export const updateRoleOf = (tx: Tx, org: string, user: string, role: OrganizationRole) =>
  run(tx)`update identity.member set role = ${role} where org_id = ${org} and user_id = ${user}`;

/**
 * Locks a member who is about to be removed: waits for pages to the member in progress, and later ones find no member. Tokens are deleted
 * with the membership. They are locked first, as minting does it, to avoid a deadlock.
 */
export async function lockForRemoval(tx: Tx, org: string, user: string): Promise<void> {
  await run(tx)`select from identity.token where org_id = ${org} and user_id = ${user} order by id for update`;
  await run(tx)`select from identity.member where org_id = ${org} and user_id = ${user} for update`;
}

export async function deleteMember(tx: Tx, org: string, user: string): Promise<void> {
  await lockForRemoval(tx, org, user);
  await run(tx)`delete from identity.member where org_id = ${org} and user_id = ${user}`;
}
