import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const DomainState = Type.Union([Type.Literal('pending'), Type.Literal('verified'), Type.Literal('failed')]);
const Observed = Type.Object({
  type: Type.Union([Type.Literal('CNAME'), Type.Literal('TXT')]),
  outcome: Type.Union([Type.Literal('found'), Type.Literal('missing'), Type.Literal('mismatch'), Type.Literal('error')]),
  observed: Type.Optional(Type.String()),
});
const DomainRow = Type.Object({
  org_id: Type.String(),
  page_id: Type.String(),
  name: Type.String(),
  state: DomainState,
  state_at: Type.String(),
  is_contested: Type.Boolean(),
  misses: Type.Integer(),
  missing_since: nullable(Type.String()),
  observed: nullable(Type.Array(Observed)),
  checked_at: nullable(Type.String()),
  next_check_at: nullable(Type.String()),
});
export type DomainRow = Static<typeof DomainRow>;

const columns = sql`org_id, page_id, name, state, state_at, is_contested, misses, missing_since, observed, checked_at, next_check_at`;

/** Servers read again which hosts are pages. */
export const hostsChannel = 'qd_status_hosts';
export const notifyHosts = (tx: Tx) => run(tx)`select pg_notify(${hostsChannel}, '')`;

export const domainsOfPages = (tx: Tx, org: string, pageIds: readonly string[]) => rows(tx, DomainRow)`
  select ${columns} from status.domain where org_id = ${org} and page_id = any(${pageIds}::text[])`;

export const findDomain = (tx: Tx, org: string, pageId: string) => row(tx, DomainRow)`
  select ${columns} from status.domain where org_id = ${org} and page_id = ${pageId}`;

/** Two organizations that claim or prove one name take turns. */
export const lockName = (tx: Tx, name: string) => run(tx)`select pg_advisory_xact_lock(hashtext('status.domain'), hashtext(${name}))`;

/** The claims of a name, of every organization. */
export const claimsOf = (tx: Tx, name: string) => rows(tx, DomainRow)`select ${columns} from status.domain where name = ${name} for update`;

const OwnerRow = Type.Object({ org_id: Type.String() });
export const findOwner = (tx: Tx, name: string) => row(tx, OwnerRow)`select org_id from status.domain_owner where name = ${name}`;

export const keepOwner = (tx: Tx, name: string, org: string) => run(tx)`
  insert into status.domain_owner (name, org_id, verified_at) values (${name}, ${org}, kernel.now())
  on conflict (name) do update set org_id = excluded.org_id, verified_at = excluded.verified_at`;

/** Names that an organization is remembered for after it has given them up. A wildcard in the DNS could prove any number of them. */
const maxFormerNames = 1_000;

/** Forgets the names that an organization gave up longest ago, beyond those. */
export const trimOwners = (tx: Tx, org: string) => run(tx)`
  delete from status.domain_owner where name in (
    select o.name from status.domain_owner o
     where o.org_id = ${org} and not exists (select from status.domain d where d.name = o.name and d.org_id = ${org})
     order by o.verified_at desc, o.name offset ${maxFormerNames} for update skip locked)`;

/** Undefined: another page of the organization has it. */
export const insertDomain = (tx: Tx, d: Pick<DomainRow, 'org_id' | 'page_id' | 'name' | 'is_contested'>) => row(tx, DomainRow)`
  insert into status.domain (org_id, page_id, name, state, state_at, is_contested, next_check_at, created_at)
  select ${d.org_id}, ${d.page_id}, ${d.name}, 'pending', c.now, ${d.is_contested}, c.now, c.now from (select kernel.now() as now offset 0) c
  on conflict (org_id, name) do nothing returning ${columns}`;

export const deleteDomain = (tx: Tx, org: string, pageId: string) => row(tx, DomainRow)`
  delete from status.domain where org_id = ${org} and page_id = ${pageId} returning ${columns}`;

export const markContested = (tx: Tx, name: string, exceptOrg: string) => run(tx)`
  update status.domain set is_contested = true where name = ${name} and org_id <> ${exceptOrg} and state <> 'verified' and not is_contested`;

/** Due ones, at most a few of one organization: its slow name servers do not hold up the others for long. */
export const dueDomains = (tx: Tx, limits: { most: number; perOrg: number }) => rows(tx, DomainRow)`
  select ${columns} from (
    select *, row_number() over (partition by org_id order by next_check_at) as place from status.domain where next_check_at <= kernel.now()) due
   where place <= ${limits.perOrg} order by next_check_at limit ${limits.most}`;

export interface CheckedDomain {
  state: DomainRow['state'];
  isContested: boolean;
  misses: number;
  missingSince: string | null;
  stateAt: string;
  observed: DomainRow['observed'];
  nextInSeconds: number | null;
}

export const settleCheck = (tx: Tx, { org_id, page_id, name }: DomainRow, c: CheckedDomain) => row(tx, DomainRow)`
  update status.domain
     set state = ${c.state}, state_at = ${c.stateAt}, is_contested = ${c.isContested}, misses = ${c.misses}, missing_since = ${c.missingSince},
         observed = ${JSON.stringify(c.observed)}::jsonb, checked_at = kernel.now(),
         next_check_at = kernel.now() + make_interval(secs => ${c.nextInSeconds})
   where org_id = ${org_id} and page_id = ${page_id} and name = ${name} returning ${columns}`;

/** What was seen of it could not be kept. */
export const checkLater = (tx: Tx, { org_id, page_id, name }: DomainRow) => run(tx)`
  update status.domain set checked_at = kernel.now(), next_check_at = kernel.now() + interval '30 minutes'
   where org_id = ${org_id} and page_id = ${page_id} and name = ${name}`;

/** Its organization has lost it to another that proved it. */
export const loseDomain = (tx: Tx, { org_id, page_id }: DomainRow) => run(tx)`
  update status.domain
     set state = 'failed', state_at = kernel.now(), is_contested = true, next_check_at = null
   where org_id = ${org_id} and page_id = ${page_id}`;

/** A failed one has its full time again. At most once in ten seconds. */
export const checkSoon = (tx: Tx, { org_id, page_id }: DomainRow) => row(tx, DomainRow)`
  update status.domain
     set next_check_at = greatest(kernel.now(), checked_at + interval '10 seconds'),
         state = case when state = 'failed' then 'pending' else state end,
         state_at = case when state = 'failed' then kernel.now() else state_at end
   where org_id = ${org_id} and page_id = ${page_id} returning ${columns}`;

const HostRow = Type.Object({ name: Type.String(), slug: Type.String() });

/** Every host that is a page of its own. */
export const listHosts = (tx: Tx) => rows(tx, HostRow)`
  select d.name, p.slug from status.domain d join status.page p on p.org_id = d.org_id and p.id = d.page_id where d.state = 'verified'`;
