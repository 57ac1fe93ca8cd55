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

/** A claim by organizations in turn. */
export interface FairClaim extends Claim {
  /** Of the row `q`: whose it is. */
  org: Sql;
  /** Which rows tell what organizations there are: by the columns that the index has before `org`, and nothing else. */
  walk: Sql;
  /** Organizations are visited from the one after this; '' for the first. */
  afterOrg: string;
  /** How many one organization may have running, and what runs of each already. */
  perOrg: number;
  running: ReadonlyMap<string, number>;
  /** How far the claims before have come with an organization: what lies behind need not be looked at again. */
  seen: ReadonlyMap<string, { run_at: string; id: unknown }>;
}

/** So many organizations are visited by one claim. */
const mostOrgs = 100;

/**
 * Due rows by turns: the oldest of every organization, then the second of each … It walks an index over (…, org, run_at, id), a step for
 * each organization that has rows at all, so one with very many costs no more than one with few. `which` must not restrict the organization.
 */
export const claimFairly = <S extends TSchema>(tx: Tx, schema: S, queue: Queue, wanted: FairClaim): Promise<Static<S>[]> => {
  const { table, idType } = queue;
  const { which, walk, org, afterOrg, running, seen, perOrg, limit } = wanted;
  const nextOrg = (after: Sql) => sql`select ${org} as org from ${table} q where ${walk} and ${org} > ${after} order by ${org} limit 1`;
  return lease(
    tx,
    schema,
    queue,
    wanted,
    sql`orgs as (
         select org, 1 as n from (${nextOrg(sql`${afterOrg}::text`)}) first
         union all
         select (${nextOrg(sql`orgs.org`)}), orgs.n + 1 from orgs where orgs.org is not null and orgs.n < ${mostOrgs}),
       known as materialized (
         select k.org, k.running from unnest(${[...running.keys()]}::text[], ${[...running.values()]}::int[]) as k(org, running)),
       seen as materialized (
         select s.org, s.run_at, s.id from unnest(${[...seen.keys()]}::text[], ${[...seen.values()].map((s) => s.run_at)}::timestamptz[],
                                                  ${[...seen.values()].map((s) => s.id)}::${idType}[]) as s(org, run_at, id)),
       candidate as materialized (
         select c.id, c.run_at, c.org, row_number() over (partition by c.org order by c.run_at, c.id) as turn
           from (select orgs.org, coalesce(seen.run_at, '-infinity'::timestamptz) as seen_at, seen.id as seen_id
                   from orgs left join known on known.org = orgs.org left join seen on seen.org = orgs.org
                  where orgs.org is not null and coalesce(known.running, 0) < ${perOrg}) o
          cross join lateral (
            select q.id, q.run_at, o.org from ${table} q
             where ${which} and ${org} = o.org and q.run_at >= o.seen_at and (o.seen_id is null or (q.run_at, q.id) > (o.seen_at, o.seen_id))
               and ${isFree(wanted)}
             order by q.run_at, q.id limit ${2 * limit}) c),
       due as materialized (
         select q.id, greatest(q.run_at, q.lease_until) as since
           from candidate c left join known on known.org = c.org join ${table} q on q.id = c.id
          where c.turn <= ${perOrg} - coalesce(known.running, 0) and ${isFree(wanted)}
          order by c.turn, c.run_at limit ${limit} for update of q skip locked)`,
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
): Promise<Static<S>[]> => rows(tx, schema)`
  with recursive clock as materialized (select kernel.now() as now),
       ${due}
  update ${table} q
     set lease = ${lease}::uuid, lease_until = clock.now + make_interval(secs => ${leaseSeconds}), attempts = q.attempts + 1
    from due, clock
   where q.id = due.id
  returning ${returning}, q.lease, (extract(epoch from clock.now - due.since) * 1000)::float8 as late_ms`;

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
