import Type, { type Static, type TSchema } from 'typebox';
import { rows, type Tx } from '../db/index.ts';
import { type Sql, sql } from '../sql.ts';

/**
 * Work in a table, claimed under leases. The table has id, run_at, attempts, lease uuid and lease_until; areas with their own queues use
 * the same functions. No statement here waits for a lock: rows that another transaction has locked are skipped. So one slow transaction
 * cannot delay the rest of a batch.
 */
export interface Queue {
  table: Sql;
  idType: Sql;
}

/** A row, and the lease under which it was claimed. */
export interface Leased<Id = number> {
  id: Id;
  lease: string;
}

export interface Claim {
  /** Which rows, beyond being due: by columns that precede run_at and id in an index. */
  which: Sql;
  limit: number;
  /** The fresh lease, from `randomUUID()`: the claimer must know it even if the reply never arrives. */
  lease: string;
  /** Leases of earlier claims whose reply never arrived: no handler runs their rows, so they can be claimed at once. */
  unanswered?: readonly string[];
  /** Of the row `q`: a number or an expression. */
  leaseSeconds: Sql | number;
  /** The columns to return of the row `q`. `late_ms` is added: how long the row could have been claimed before. */
  returning: Sql;
}

/** Claims due rows without a valid lease, oldest first, under one fresh lease. */
export const claim = <S extends TSchema>(tx: Tx, schema: S, queue: Queue, wanted: Claim): Promise<Static<S>[]> =>
  lease(
    tx,
    schema,
    queue,
    wanted,
    sql`due as materialized (
         select q.id, greatest(q.run_at, q.lease_until) as since
           from ${queue.table} q
          where ${wanted.which} and ${isFree(wanted)}
          order by q.run_at, q.id limit ${wanted.limit} for update of q skip locked)`,
  );

/** The limit of organizations that one walk visits. */
export const maxOrgsPerWalk = 100;

const OrgRow = Type.Object({ org: Type.Union([Type.String(), Type.Null()]) });

/**
 * The organizations that have rows at all, after `after`: one step for each in an index over (…, org, …), however many rows it has. `which`
 * names the columns that precede `org` in the index, and nothing else.
 */
export async function orgsAfter(
  tx: Tx,
  { table }: Queue,
  { which, org, after }: { which: Sql; org: Sql; after: string },
): Promise<string[]> {
  const next = (from: Sql) => sql`select ${org} as org from ${table} q where ${which} and ${org} > ${from} order by ${org} limit 1`;
  const found = await rows(tx, OrgRow)`
    with recursive orgs as (
      select org, 1 as n from (${next(sql`${after}::text`)}) first
      union all
      select (${next(sql`orgs.org`)}), orgs.n + 1 from orgs where orgs.org is not null and orgs.n < ${maxOrgsPerWalk})
    select org from orgs order by n`;
  return found.flatMap((f) => f.org ?? []);
}

/** A claim by organizations in turn. */
export interface FairClaim extends Claim {
  /** Of the row `q`: its organization. */
  org: Sql;
  /** The organizations to visit, in the order of their turns. */
  orgs: readonly string[];
  /** The limit of running rows of one organization, and the number already running by organization. */
  perOrg: number;
  running: ReadonlyMap<string, number>;
  /** The position of earlier claims by organization: rows before it are skipped. */
  seen: ReadonlyMap<string, { run_at: string; id: unknown }>;
}

/**
 * Due rows by turns: the organization with the fewest running rows comes first, then the order of `orgs`, not the age of the rows. `place`
 * is returned too: the number of the turn, from 1 on. An organization with very many rows costs no more than one with few. `which` must not
 * restrict the organization.
 */
export const claimFairly = <S extends TSchema>(tx: Tx, schema: S, queue: Queue, wanted: FairClaim): Promise<Static<S>[]> => {
  const { table, idType } = queue;
  const { which, org, orgs, running, seen, perOrg, limit } = wanted;
  const of = orgs.map((name) => ({ running: running.get(name) ?? 0, seen: seen.get(name) }));
  return lease(
    tx,
    schema,
    queue,
    wanted,
    sql`orgs as materialized (
         select o.* from unnest(${orgs}::text[], ${of.map((o) => o.running)}::int[], ${of.map((o) => o.seen?.run_at ?? '-infinity')}::timestamptz[],
                                ${of.map((o) => o.seen?.id ?? null)}::${idType}[]) with ordinality as o(org, running, seen_at, seen_id, n)
          where o.running < ${perOrg}),
       candidate as materialized (
         select c.id, c.n, c.running + row_number() over (partition by c.n order by c.run_at, c.id) as turn
           from orgs o cross join lateral (
             select q.id, q.run_at, o.n, o.running from ${table} q
              where ${which} and ${org} = o.org and q.run_at >= o.seen_at and (o.seen_id is null or (q.run_at, q.id) > (o.seen_at, o.seen_id))
                and ${isFree(wanted)}
              order by q.run_at, q.id limit ${2 * limit}) c),
       due as materialized (
         select q.id, greatest(q.run_at, q.lease_until) as since, c.n::int as place
           from candidate c join ${table} q on q.id = c.id
          where c.turn <= ${perOrg} and ${isFree(wanted)}
          order by c.turn, c.n limit ${limit} for update of q skip locked)`,
    sql`, due.place`,
  );
};

const isFree = ({ unanswered = [] }: Claim): Sql => sql`q.run_at <= (select now from clock)
            and (q.lease_until is null or q.lease_until <= (select now from clock) or q.lease = any(${unanswered}::uuid[]))`;

/** Leases the rows that `due` names. */
const lease = <S extends TSchema>(
  tx: Tx,
  schema: S,
  { table }: Queue,
  { lease, leaseSeconds, returning }: Claim,
  due: Sql,
  more: Sql = sql``,
): Promise<Static<S>[]> => rows(tx, schema)`
  with clock as materialized (select kernel.now() as now),
       ${due}
  update ${table} q
     set lease = ${lease}::uuid, lease_until = clock.now + make_interval(secs => ${leaseSeconds}), attempts = q.attempts + 1
    from due, clock
   where q.id = due.id
  returning ${returning}, q.lease, (extract(epoch from clock.now - due.since) * 1000)::float8 as late_ms ${more}`;

export type Verdict = 'settled' | 'again' | 'busy' | 'lost';
const VerdictRow = Type.Object({ n: Type.Integer(), verdict: Type.Enum(['settled', 'again', 'busy', 'lost'] as const) });

/**
 * Acts on the rows whose lease still holds, and returns a verdict for each: settled; busy (another transaction has locked it, retry); or
 * lost. `act` is one or more CTEs over `mine` (n, id and the columns of `take`), which holds the locked rows in their newest version.
 */
export async function settle<Id>(
  tx: Tx,
  { table, idType }: Queue,
  leased: readonly Leased<Id>[],
  take: Sql,
  act: Sql,
  settled: Sql = sql`'settled'`,
): Promise<Verdict[]> {
  const found = await rows(tx, VerdictRow)`
    with clock as materialized (select kernel.now() as now),
         leased as materialized (
           select l.id, l.lease, l.n::int as n
             from unnest(${leased.map((l) => l.id)}::${idType}[], ${leased.map((l) => l.lease)}::uuid[]) with ordinality as l(id, lease, n)),
         mine as materialized (select l.n, ${take} from leased l join ${table} q on q.id = l.id and q.lease = l.lease for update of q skip locked),
         ${act}
    select l.n, case when m.id is not null then ${settled}
                     when exists (select from ${table} q where q.id = l.id and q.lease = l.lease) then 'busy'
                     else 'lost' end as verdict
      from leased l left join mine m on m.n = l.n
     order by l.n`;
  return found.map((f) => f.verdict);
}

/** A lapsed lease that no worker has replaced can still be renewed. */
export const renew = <Id>(tx: Tx, queue: Queue, leased: readonly (Leased<Id> & { leaseSeconds: number })[]): Promise<Verdict[]> =>
  settle(
    tx,
    queue,
    leased,
    sql`q.id`,
    sql`span as (select n::int, s from unnest(${leased.map((l) => l.leaseSeconds)}::int[]) with ordinality as l(s, n)),
        renewed as (update ${queue.table} q set lease_until = clock.now + make_interval(secs => span.s)
                      from mine join span using (n), clock where q.id = mine.id)`,
  );
