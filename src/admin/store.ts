import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../kernel/db.ts';

const OrgRow = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  name: Type.String(),
  entitlements: Type.Array(Type.String()),
  payment_active: Type.Boolean(),
  members: Type.Integer(),
  owners: Type.Array(Type.String()),
  created_at: Type.String(),
});
export type OrgRow = Static<typeof OrgRow>;

export const organizations = (tx: Tx): Promise<OrgRow[]> => rows(tx, OrgRow)`
  select o.id, o.slug, o.name, o.entitlements, o.payment_active, o.created_at,
         (select count(*) from identity.member m where m.org_id = o.id) as members,
         array(select u.email from identity.member m join identity.account u on u.id = m.user_id
                where m.org_id = o.id and m.role = 'owner' order by m.joined_at) as owners
    from identity.org o order by o.slug`;

export const slugTaken = async (tx: Tx, slug: string): Promise<boolean> =>
  (await run(tx)`select 1 from identity.org where slug = ${slug}`) > 0;

export const setEntitlements = (tx: Tx, org: string, entitlements: readonly string[]) =>
  run(tx)`update identity.org set entitlements = ${entitlements} where id = ${org}`;

export const setPayment = (tx: Tx, org: string, active: boolean) =>
  run(tx)`update identity.org set payment_active = ${active} where id = ${org}`;

const FirstOwnerRow = Type.Object({ user_id: Type.String() });

export const firstOwner = (tx: Tx, org: string) => row(tx, FirstOwnerRow)`
  select user_id from identity.member where org_id = ${org} and role = 'owner' order by joined_at, user_id limit 1`;

const JobOrgRow = Type.Object({ id: Type.Integer(), org_id: Type.Union([Type.String(), Type.Null()]), kind: Type.String() });

/** Of one job, dead or not. */
export const jobOrg = (tx: Tx, id: number) => row(tx, JobOrgRow)`select id, org_id, kind from kernel.job where id = ${id}`;

const ServersRow = Type.Object({ address: Type.Union([Type.String(), Type.Null()]), here: Type.Boolean() });

/** Every serving process holds one connection for hearing; `here`: it comes from the machine that we come from. */
export const servers = (tx: Tx): Promise<Static<typeof ServersRow>[]> => rows(tx, ServersRow)`
  select host(client_addr) as address, client_addr is not distinct from inet_client_addr() as here
    from pg_stat_activity where datname = current_database() and application_name = 'quarterdeck listen'`;
