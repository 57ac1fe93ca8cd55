import Type, { type Static } from 'typebox';
import type { OrganizationRole } from '../../../../contract/permissions.ts';
import { Role } from '../../../identity/store/members.ts';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const InvitationRow = Type.Object({
  id: Type.String(),
  email: Type.String(),
  role: Role,
  invited_by: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
  expires_at: Type.String(),
});
export type InvitationRow = Static<typeof InvitationRow>;

const columns = sql`id, email, role, invited_by, created_at, expires_at`;

export const listInvitations = (tx: Tx, org: string) => rows(tx, InvitationRow)`
  select ${columns} from identity.invitation where org_id = ${org} and expires_at > kernel.now() order by id desc`;

export const findInvitation = (tx: Tx, org: string, id: string) => row(tx, InvitationRow)`
  select ${columns} from identity.invitation where org_id = ${org} and id = ${id} and expires_at > kernel.now()`;

/** `invitedBy`: undefined for the operator. */
export interface NewInvitation {
  email: string;
  role: OrganizationRole;
  hash: Buffer;
  days: number;
  invitedBy: string | undefined;
}

export const insertInvitation = async (tx: Tx, org: string, i: NewInvitation) =>
  (await row(tx, InvitationRow)`
    insert into identity.invitation (org_id, id, email, role, hash, invited_by, created_at, expires_at)
    values (${org}, kernel.new_id('inv'), ${i.email}, ${i.role}, ${i.hash}, ${i.invitedBy ?? null}, kernel.now(), kernel.now() + make_interval(days => ${i.days}))
    returning ${columns}`)!;

export const deleteInvitation = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from identity.invitation where org_id = ${org} and id = ${id}`;

/** Those that a member made and that are still open, but for these roles. */
export const deleteInvitationsBy = (tx: Tx, org: string, user: string, except: readonly string[]): Promise<InvitationRow[]> =>
  rows(tx, InvitationRow)`
    delete from identity.invitation where org_id = ${org} and invited_by = ${user} and role <> all(${except}::text[]) returning ${columns}`;

/** Members with open invitations who hold this role by a grant. */
export const invitersHolding = async (tx: Tx, org: string, role: string): Promise<string[]> =>
  (
    await rows(tx, Type.Object({ invited_by: Type.String() }))`
    select distinct i.invited_by from identity.invitation i
      join identity.role_grant g on g.org_id = i.org_id and g.user_id = i.invited_by and g.role = ${role}
     where i.org_id = ${org} and i.expires_at > kernel.now() order by i.invited_by`
  ).map((i) => i.invited_by);

/** The open invitations of an address. */
export const findInvitationsFor = (tx: Tx, org: string, email: string) => rows(tx, InvitationRow)`
  select ${columns} from identity.invitation where org_id = ${org} and lower(email) = lower(${email}) and expires_at > kernel.now() order by id`;

/** Also expired ones. */
export const deleteInvitationsFor = (tx: Tx, org: string, email: string) =>
  run(tx)`delete from identity.invitation where org_id = ${org} and lower(email) = lower(${email})`;

const PresentedRow = Type.Object({
  id: Type.String(),
  org_id: Type.String(),
  email: Type.String(),
  role: Role,
  invited_by: Type.Union([Type.String(), Type.Null()]),
});

/** The invitation of a link. Accepting or withdrawing one locks its organization first and then reads it again, so a link works once. */
export const findPresentedInvitation = (tx: Tx, hash: Buffer) => row(tx, PresentedRow)`
  select id, org_id, email, role, invited_by from identity.invitation where hash = ${hash} and expires_at > kernel.now()`;

/** Deletes a batch of expired invitations. */
export const deleteExpiredInvitations = (tx: Tx, limit: number): Promise<number> => run(tx)`
  delete from identity.invitation where (org_id, id) in (
    select org_id, id from identity.invitation where expires_at < kernel.now() order by expires_at limit ${limit} for update skip locked)`;
