import Type, { type Static } from 'typebox';
import type { OrganizationRole } from '../../../contract/permissions.ts';
import { row, rows, run, type Tx } from '../../kernel/db/index.ts';
import { sql } from '../../kernel/sql.ts';

export const Role = Type.Unsafe<OrganizationRole>({ type: 'string' });

export const MemberRow = Type.Object({
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  role: Role,
  joined_at: Type.String(),
});
/** `id` is the account's: the same in every organization. */
export type Member = Static<typeof MemberRow>;

export const memberColumns = sql`u.id, u.email, u.name, m.role, m.joined_at`;

/** A member of the organization; undefined: not a member, or no longer. */
export const memberOf = (tx: Tx, org: string, user: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} and m.user_id = ${user}`;

/**
 * The same for a member who is to be paged: the member cannot be removed until this transaction ends, and a removal in progress is waited
 * for.
 */
export const memberToPage = (tx: Tx, org: string, user: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} and m.user_id = ${user}
     for key share of m`;

/** Owners, longest membership first. */
export const ownersOf = (tx: Tx, org: string, limit: number): Promise<Member[]> => rows(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and m.role = 'owner' order by m.joined_at, m.user_id limit ${limit}`;

/** All of them: an organization has a thousand at most. */
export const allMembers = (tx: Tx, org: string): Promise<Member[]> => rows(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org} order by m.user_id desc`;

export const membersOf = async (tx: Tx, org: string): Promise<ReadonlyMap<string, Member>> =>
  new Map((await allMembers(tx, org)).map((member) => [member.id, member]));

/** Until the transaction ends, the member cannot be removed, and is given nothing else. False: no member. */
export const lockMember = async (tx: Tx, org: string, user: string): Promise<boolean> =>
  (await run(tx)`select 1 from identity.member where org_id = ${org} and user_id = ${user} for no key update`) > 0;

/**
 * Locks a member who is about to be removed: waits for pages to the member in progress, and later ones find no member. Tokens are deleted
 * with the membership. They are locked first, as minting does it, to avoid a deadlock.
 */
export async function lockForRemoval(tx: Tx, org: string, user: string): Promise<void> {
  await run(tx)`select from identity.token where org_id = ${org} and user_id = ${user} order by id for update`;
  await run(tx)`select from identity.member where org_id = ${org} and user_id = ${user} for update`;
}
