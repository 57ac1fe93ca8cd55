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

const AccountRow = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() });

export const accountById = (tx: Tx, id: string) => row(tx, AccountRow)`select id, email, name from identity.account where id = ${id}`;

/**
 * The accounts of an address, ten at most. Anybody who invites an address can make one, so there may be several: this one first, then the
 * one that the operator made, then the oldest.
 */
export const accountsOfAddress = (tx: Tx, email: string, firstId: string | undefined) => rows(tx, AccountRow)`
  select id, email, name from identity.account where lower(email) = lower(${email})
   order by id = ${firstId ?? ''} desc, vouched desc, id limit 10`;
/**
 * A mail to its address has reached the person, so the account is vouched for, unless another one of the address is. Returns whether it was
 * not before.
 */
export const vouchFor = async (tx: Tx, user: string): Promise<boolean> =>
  (await run(tx)`
    update identity.account a set vouched = true
     where a.id = ${user} and not a.vouched
       and not exists (select from identity.account b where lower(b.email) = lower(a.email) and b.vouched)`) > 0;

const VouchedRow = Type.Object({ vouched: Type.Boolean() });

export const isVouched = async (tx: Tx, user: string): Promise<boolean> =>
  (await row(tx, VouchedRow)`select vouched from identity.account where id = ${user}`)?.vouched ?? false;

const OwnOrgRow = Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String() });
export type OwnOrg = Static<typeof OwnOrgRow>;

/** The organizations that a person may choose among, by name. */
export const organizationsOf = (tx: Tx, user: string): Promise<OwnOrg[]> => rows(tx, OwnOrgRow)`
  select o.id, o.slug, o.name from identity.member m join identity.org o on o.id = m.org_id
   where m.user_id = ${user} order by o.name, o.id limit 1000`;

const OrgIdRow = Type.Object({ org_id: Type.String() });

/** The organizations of a person, in one order everywhere. */
export const orgsOfUser = async (tx: Tx, user: string): Promise<string[]> =>
  (await rows(tx, OrgIdRow)`select org_id from identity.member where user_id = ${user} order by org_id limit 1000`).map(
    ({ org_id }) => org_id,
  );

const SlugRow = Type.Object({ slug: Type.String() });

/** The slugs of a person's organizations. */
export const slugsOfUser = async (tx: Tx, user: string): Promise<string[]> =>
  (
    await rows(tx, SlugRow)`
      select o.slug from identity.member m join identity.org o on o.id = m.org_id where m.user_id = ${user} order by o.slug limit 1000`
  ).map(({ slug }) => slug);
