import Type, { type Static, type TSchema } from 'typebox';
import { rows, type Tx } from '../db/index.ts';
import { type Sql, sql } from '../sql.ts';

/**
 * Work in a table, taken under leases. The table has id, run_at, attempts, lease uuid and lease_until; areas with queues of their
 * own use the same functions on theirs. No statement here waits for a lock: whatever another transaction holds at this moment is
 * skipped, so that one slow transaction cannot keep the rest of a batch waiting.
 */
export interface Queue {
  table: Sql;
  idType: Sql;
}

/** A row, and the lease under which we took it. */
export interface Leased<Id = number> {
  id: Id;
  lease: string;
}

export interface Claim {
  /** Which rows, beyond being due: by columns that an index has before run_at and id. */
  which: Sql;
  limit: number;
  /** The fresh lease, from `randomUUID()`: the claimer must know it even if the answer never arrives. */
  lease: string;
  /** Leases of earlier claims whose answer never arrived: nobody works on what they took, and it can be taken at once. */
  unanswered?: readonly string[];
  /** Of the row `q`: a number or an expression. */
  leaseSeconds: Sql | number;
  /** What comes back of the row `q`, and `late_ms`: since when, at the claim, it could have been taken. */
  returning: Sql;
}

/** Due rows under nobody’s lease, oldest first, now under one fresh lease. */
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

/** So many organizations are visited by one walk. */
export const mostOrgs = 100;

const OrgRow = Type.Object({ org: Type.Union([Type.String(), Type.Null()]) });

/**
 * The organizations that have rows at all, from the one after `after` on: a step in an index over (…, org, …) for each, however many rows it
 * has. `which` names the columns that the index has before `org`, and nothing else.
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
      select (${next(sql`orgs.org`)}), orgs.n + 1 from orgs where orgs.org is not null and orgs.n < ${mostOrgs})
    select org from orgs order by n`;
  return found.flatMap((f) => f.org ?? []);
}

/** A claim by organizations in turn. */
export interface FairClaim extends Claim {
  /** Of the row `q`: whose it is. */
  org: Sql;
  /** Those that are asked, in the order of their turns. */
  orgs: readonly string[];
  /** How many one organization may have running, and what runs of each already. */
  perOrg: number;
  running: ReadonlyMap<string, number>;
  /** How far the claims before have come with an organization: what lies behind need not be looked at again. */
  seen: ReadonlyMap<string, { run_at: string; id: unknown }>;
}

/**
 * Due rows by turns: whoever has least running comes first, and among those the order of `orgs` counts, not the age of what they wait for.
 * `place` comes back too: whose turn it was, from 1 on. An organization with very many rows costs no more than one with few. `which` must not restrict the organization.
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

/** Puts what `due` names under the fresh lease. */
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
 * Acts on those that are still ours and tells of each: settled; busy, for another transaction has it locked, ask again; or lost.
 * `act` is one or more CTEs over `mine` (n, id and the columns of `take`), which holds the locked rows in their newest version.
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

/** A lease that lapsed but that nobody has taken since is still ours to renew. */
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
