import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const SendState = Type.Union([Type.Literal('pending'), Type.Literal('verified'), Type.Literal('failed')]);
const ReceiveState = Type.Union([Type.Literal('none'), ...SendState.anyOf]);

const DomainRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  name: Type.String(),
  send_state: SendState,
  receive_state: ReceiveState,
  created_at: Type.String(),
  rsa_selector: Type.String(),
  rsa_public: Type.String(),
  ed_selector: Type.String(),
  ed_public: Type.String(),
  state_at: Type.String(),
  misses: Type.Integer(),
  missing_since: Type.Union([Type.String(), Type.Null()]),
  receive_state_at: Type.Union([Type.String(), Type.Null()]),
  receive_misses: Type.Integer(),
  receive_missing_since: Type.Union([Type.String(), Type.Null()]),
});
export type DomainRow = Static<typeof DomainRow>;

const columns = sql`org_id, id, name, send_state, receive_state, created_at, rsa_selector, rsa_public, ed_selector, ed_public,
  state_at, misses, missing_since, receive_state_at, receive_misses, receive_missing_since`;

export const domainsOf = (tx: Tx, org: string, visible: Visible) => rows(tx, DomainRow)`
  select ${columns} from email.domain where org_id = ${org} and ${isVisible(visible, sql`id`)} order by id desc`;

export const domainById = (tx: Tx, org: string, id: string) => row(tx, DomainRow)`
  select ${columns} from email.domain where org_id = ${org} and id = ${id}`;

export const lockDomain = (tx: Tx, org: string, id: string) => row(tx, DomainRow)`
  select ${columns} from email.domain where org_id = ${org} and id = ${id} for update`;

const IdRow = Type.Object({ id: Type.String() });
const NamedRow = Type.Object({ id: Type.String(), name: Type.String() });

export const namedDomains = (tx: Tx, org: string, visible: Visible) => rows(tx, NamedRow)`
  select id, name from email.domain where org_id = ${org} and ${isVisible(visible, sql`id`)} order by name`;

/** The ids that are domains of the organization. */
export const knownDomains = async (tx: Tx, org: string, ids: readonly string[]): Promise<Set<string>> =>
  new Set((await rows(tx, IdRow)`select id from email.domain where org_id = ${org} and id = any(${ids}::text[])`).map(({ id }) => id));

const ClaimRow = Type.Object({ org_id: Type.String(), id: Type.String(), name: Type.String(), is_over: Type.Boolean() });
export type ClaimRow = Static<typeof ClaimRow>;

/** Failed and no longer checked: see `never` in domain-checks.ts. */
const isOver = sql`send_state = 'failed' and next_check_at >= '9999-01-01T00:00:00Z' as is_over`;

/** The claim on this name in any state, and verified claims on names above or below it. */
export const claimsAround = (tx: Tx, name: string, parents: readonly string[]) => rows(tx, ClaimRow)`
  select org_id, id, name, ${isOver} from email.domain where name = ${name}
  union all
  select org_id, id, name, ${isOver} from email.domain where name = any(${parents}::text[]) and send_state = 'verified'
  union all
  (select org_id, id, name, ${isOver} from email.domain
    where reverse(name) collate "C" > ${`${reversed(name)}.`} and reverse(name) collate "C" < ${`${reversed(name)}/`}
      and send_state = 'verified' limit 200)`;

const reversed = (name: string) => [...name].reverse().join('');

const CountRow = Type.Object({ n: Type.Integer() });

export const countDomains = async (tx: Tx, org: string): Promise<number> =>
  (await row(tx, CountRow)`select count(*)::int as n from email.domain where org_id = ${org}`)!.n;

/** The domains of all organizations with one of these names. */
export const domainsNamed = (tx: Tx, names: readonly string[]) => rows(tx, DomainRow)`
  select ${columns} from email.domain where name = any(${names}::text[])`;

/** Locks until the transaction ends, so that two concurrent requests cannot both take the last slot. */
export const lockQuota = (tx: Tx, org: string) => run(tx)`select pg_advisory_xact_lock(hashtext('email.domain'), hashtext(${org}))`;

/** Allocated before the insert, because the keys are sealed with this id. */
export const newDomainId = async (tx: Tx): Promise<string> => (await row(tx, IdRow)`select kernel.new_id('dom') as id`)!.id;

export interface NewDomain {
  id: string;
  name: string;
  rsa: { selector: string; public: string; sealed: Buffer };
  ed: { selector: string; public: string; sealed: Buffer };
}

/** Undefined: the name is taken by some organization. */
export const insertDomain = (tx: Tx, org: string, { id, name, rsa, ed }: NewDomain) => row(tx, DomainRow)`
  insert into email.domain (org_id, id, name, send_state, receive_state, created_at, rsa_selector, rsa_public, rsa_private,
                            ed_selector, ed_public, ed_private, next_check_at, state_at)
  select ${org}, ${id}, ${name}, 'pending', 'none', c.now, ${rsa.selector}, ${rsa.public}, ${rsa.sealed},
         ${ed.selector}, ${ed.public}, ${ed.sealed}, c.now, c.now
    from (select kernel.now() as now offset 0) c
  on conflict (name) do nothing returning ${columns}`;

export const deleteDomain = (tx: Tx, org: string, id: string) => run(tx)`delete from email.domain where org_id = ${org} and id = ${id}`;

const SendableRow = Type.Object({ id: Type.String(), name: Type.String(), send_state: SendState });
export type SendableRow = Static<typeof SendableRow>;

export const sendableByName = (tx: Tx, org: string, name: string) => row(tx, SendableRow)`
  select id, name, send_state from email.domain where org_id = ${org} and name = ${name}`;

const Sealed = Type.Unsafe<Buffer>({});
const SigningRow = Type.Object({
  org_id: Type.String(),
  name: Type.String(),
  rsa_selector: Type.String(),
  rsa_private: Sealed,
  ed_selector: Type.String(),
  ed_private: Sealed,
});

export const signingKeysOf = (tx: Tx, id: string) => row(tx, SigningRow)`
  select org_id, name, rsa_selector, rsa_private, ed_selector, ed_private from email.domain where id = ${id}`;

/** The routes of a domain go with it. */
export const deleteRoutesOf = (tx: Tx, org: string, domainId: string) =>
  run(tx)`delete from email.route where org_id = ${org} and domain_id = ${domainId}`;
