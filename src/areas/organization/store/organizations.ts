import Type, { type Static } from 'typebox';
import { OrgRow } from '../../../identity/store/organizations.ts';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const OverviewRow = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  entitlements: Type.Array(Type.String()),
  payment_active: Type.Boolean(),
  members: Type.Integer(),
  owners: Type.Array(Type.String()),
  created_at: Type.String(),
});
/** An organization as the operator sees it; `owners` are addresses. */
export type OrgOverview = Static<typeof OverviewRow>;

export const listOrgs = (tx: Tx): Promise<OrgOverview[]> => rows(tx, OverviewRow)`
  select o.id, o.slug, o.name, o.entitlements, o.payment_active, o.created_at,
         (select count(*) from identity.member m where m.org_id = o.id) as members,
         array(select u.email from identity.member m join identity.account u on u.id = m.user_id
                where m.org_id = o.id and m.role = 'owner' order by m.joined_at) as owners
    from identity.org o order by o.slug`;

/** Two servers may start on one empty database: only one of them at a time looks whether there is an organization. */
export const lockFirstStart = (tx: Tx) => run(tx)`select pg_advisory_xact_lock(7203114502)`;

export const hasOrgs = async (tx: Tx): Promise<boolean> => (await run(tx)`select 1 from identity.org limit 1`) > 0;

export const isSlugTaken = async (tx: Tx, slug: string): Promise<boolean> =>
  (await run(tx)`select 1 from identity.org where slug = ${slug}`) > 0;

/** `email` is the address of all contacts until they are changed. */
export const insertOrg = async (tx: Tx, o: { slug: string; name: string; entitlements: string[]; email: string }) =>
  (await row(tx, OrgRow)`
    insert into identity.org (id, slug, name, entitlements, billing_email, technical_email, security_email, created_at)
    values (kernel.new_id('org'), ${o.slug}, ${o.name}, ${o.entitlements}, ${o.email}, ${o.email}, ${o.email}, kernel.now())
    returning id, slug, name, created_at`)!;

export const updateOrgName = async (tx: Tx, id: string, name: string) =>
  (await row(tx, OrgRow)`update identity.org set name = ${name} where id = ${id} returning id, slug, name, created_at`)!;

const ContactsRow = Type.Object({ billing_email: Type.String(), technical_email: Type.String(), security_email: Type.String() });
export type ContactsRow = Static<typeof ContactsRow>;

export const contactsOf = async (tx: Tx, id: string) =>
  (await row(tx, ContactsRow)`select billing_email, technical_email, security_email from identity.org where id = ${id}`)!;

export const updateContacts = async (tx: Tx, id: string, c: ContactsRow) =>
  (await row(tx, ContactsRow)`
    update identity.org set billing_email = ${c.billing_email}, technical_email = ${c.technical_email}, security_email = ${c.security_email}
     where id = ${id} returning billing_email, technical_email, security_email`)!;

export const updateEntitlements = (tx: Tx, id: string, entitlements: readonly string[]) =>
  run(tx)`update identity.org set entitlements = ${entitlements} where id = ${id}`;

export const updatePayment = (tx: Tx, id: string, active: boolean) =>
  run(tx)`update identity.org set payment_active = ${active} where id = ${id}`;
