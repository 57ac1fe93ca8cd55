import Type, { type Static } from 'typebox';
import type { OrganizationRole } from '../../../contract/permissions.ts';
import { row, rows, run, type Tx } from '../../kernel/db.ts';
import type { Page } from '../../kernel/page.ts';
import { sql } from '../../kernel/sql.ts';

const Role = Type.Unsafe<OrganizationRole>({ type: 'string' });

const OrgRow = Type.Object({ id: Type.String(), slug: Type.String(), name: Type.String(), created_at: Type.String() });
const ContactsRow = Type.Object({ billing_email: Type.String(), technical_email: Type.String(), security_email: Type.String() });
const MemberRow = Type.Object({ user_id: Type.String(), email: Type.String(), name: Type.String(), role: Role, joined_at: Type.String() });
const InvitationRow = Type.Object({
  id: Type.String(),
  email: Type.String(),
  role: Role,
  created_at: Type.String(),
  expires_at: Type.String(),
});
const AuditRow = Type.Object({
  id: Type.String(),
  at: Type.String(),
  actor: Type.String(),
  actor_label: Type.String(),
  token_id: Type.Union([Type.String(), Type.Null()]),
  action: Type.String(),
  target: Type.String(),
  request_id: Type.Union([Type.String(), Type.Null()]),
  detail: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
});
export type OrgRow = Static<typeof OrgRow>;
export type ContactsRow = Static<typeof ContactsRow>;
export type MemberRow = Static<typeof MemberRow>;
export type InvitationRow = Static<typeof InvitationRow>;
export type AuditRow = Static<typeof AuditRow>;

export const org = async (tx: Tx, id: string) =>
  (await row(tx, OrgRow)`select id, slug, name, created_at from identity.org where id = ${id}`)!;

/** Everything that changes who belongs to an organization takes this lock first: so there is always a last owner to protect. */
export const lockOrg = async (tx: Tx, id: string) =>
  (await row(tx, OrgRow)`select id, slug, name, created_at from identity.org where id = ${id} for update`)!;

export const renameOrg = async (tx: Tx, id: string, name: string) =>
  (await row(tx, OrgRow)`update identity.org set name = ${name} where id = ${id} returning id, slug, name, created_at`)!;

export const contacts = async (tx: Tx, id: string) =>
  (await row(tx, ContactsRow)`select billing_email, technical_email, security_email from identity.org where id = ${id}`)!;

export const updateContacts = async (tx: Tx, id: string, c: ContactsRow) =>
  (await row(tx, ContactsRow)`
    update identity.org set billing_email = ${c.billing_email}, technical_email = ${c.technical_email}, security_email = ${c.security_email}
     where id = ${id} returning billing_email, technical_email, security_email`)!;

const memberColumns = sql`m.user_id, u.email, u.name, m.role, m.joined_at`;

export const members = (tx: Tx, orgId: string) => rows(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${orgId} order by m.user_id desc`;

export const member = (tx: Tx, orgId: string, userId: string) => row(tx, MemberRow)`
  select ${memberColumns} from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${orgId} and m.user_id = ${userId}`;

export const owners = (tx: Tx, orgId: string) => run(tx)`select 1 from identity.member where org_id = ${orgId} and role = 'owner'`;

export const insertMember = (tx: Tx, orgId: string, userId: string, role: OrganizationRole) =>
  run(
    tx,
  )`insert into identity.member (org_id, user_id, role, joined_at) values (${orgId}, ${userId}, ${role}, kernel.now()) on conflict do nothing`;

export const setRole = (tx: Tx, orgId: string, userId: string, role: OrganizationRole) =>
  run(tx)`update identity.member set role = ${role} where org_id = ${orgId} and user_id = ${userId}`;

/** The tokens go with the membership. They are locked first, as minting does it: else each would wait for the other. */
export async function removeMember(tx: Tx, orgId: string, userId: string): Promise<void> {
  await run(tx)`select from identity.token where org_id = ${orgId} and user_id = ${userId} order by id for update`;
  await run(tx)`delete from identity.member where org_id = ${orgId} and user_id = ${userId}`;
}

const AccountRow = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() });

export const accountByEmail = (tx: Tx, email: string) =>
  row(tx, AccountRow)`select id, email, name from identity.account where lower(email) = lower(${email})`;

export const insertAccount = (tx: Tx, email: string, name: string) => row(tx, AccountRow)`
  insert into identity.account (id, email, name, created_at) values (kernel.new_id('usr'), ${email}, ${name}, kernel.now())
  on conflict do nothing returning id, email, name`;

const invitationColumns = sql`id, email, role, created_at, expires_at`;

export const invitations = (tx: Tx, orgId: string) => rows(tx, InvitationRow)`
  select ${invitationColumns} from identity.invitation where org_id = ${orgId} and expires_at > kernel.now() order by id desc`;

export const insertInvitation = async (tx: Tx, orgId: string, i: { email: string; role: OrganizationRole; hash: Buffer; days: number }) =>
  (await row(tx, InvitationRow)`
    insert into identity.invitation (org_id, id, email, role, hash, created_at, expires_at)
    values (${orgId}, kernel.new_id('inv'), ${i.email}, ${i.role}, ${i.hash}, kernel.now(), kernel.now() + make_interval(days => ${i.days}))
    returning ${invitationColumns}`)!;

/** A new invitation for an address replaces the open ones. */
export const withdrawFor = (tx: Tx, orgId: string, email: string) =>
  run(tx)`delete from identity.invitation where org_id = ${orgId} and lower(email) = lower(${email})`;

export const invitation = (tx: Tx, orgId: string, id: string) => row(tx, InvitationRow)`
  select ${invitationColumns} from identity.invitation where org_id = ${orgId} and id = ${id} and expires_at > kernel.now()`;

export const deleteInvitation = (tx: Tx, orgId: string, id: string) =>
  run(tx)`delete from identity.invitation where org_id = ${orgId} and id = ${id}`;

const PresentedRow = Type.Object({ id: Type.String(), org_id: Type.String(), email: Type.String(), role: Role });

/** Taken with a lock: a link works once, however many press the button. */
export const presentedInvitation = (tx: Tx, hash: Buffer) => row(tx, PresentedRow)`
  select id, org_id, email, role from identity.invitation where hash = ${hash} and expires_at > kernel.now() for update`;

export const auditEntries = (tx: Tx, orgId: string, { limit, after }: Page) => rows(tx, AuditRow)`
  select id, at, actor, actor_label, token_id, action, target, request_id, detail from kernel.audit
   where org_id = ${orgId} and (${after}::text is null or id < ${after}) order by id desc limit ${limit + 1}`;
