import Type, { type Static, type TSchema } from 'typebox';
import { rows, type Tx } from '../db.ts';
import { type Sql, sql } from '../sql.ts';

/**
 * Work in a table, held under leases. The table has id, run_at, attempts, lease uuid and lease_until; areas with queues of their
 * own use the same functions on theirs. No statement here waits for a lock: whatever another transaction holds at this moment is
 * skipped, so that one slow transaction cannot keep the rest of a batch waiting.
 */
export interface Queue {
  table: Sql;
  idType: Sql;
}

export interface Held<Id = number> {
  id: Id;
  lease: string;
}

export interface Claim {
  /** Which rows, beyond being due: by columns that an index has before run_at and id. */
  which: Sql;
  limit: number;
  /** The fresh lease, from `randomUUID()`: the claimer must know it even if the answer never arrives. */
  lease: string;
  /** Leases of earlier claims whose answer never arrived: what they took is held by nobody, and can be taken at once. */
  unanswered?: readonly string[];
  /** Of the row `q`: a number or an expression. */
  leaseSeconds: Sql | number;
  /** What comes back of the row `q`, and `late_ms`: since when, at the claim, it could have been taken. */
  returning: Sql;
}

/** Due rows that nobody holds, oldest first, now under one fresh lease. */
export const claim = <S extends TSchema>(
  tx: Tx,
  schema: S,
  { table }: Queue,
  { which, limit, lease, unanswered = [], leaseSeconds, returning }: Claim,
): Promise<Static<S>[]> => rows(tx, schema)`
  with clock as materialized (select kernel.now() as now),
       due as materialized (
         select q.id, greatest(q.run_at, q.lease_until) as since
           from ${table} q
          where ${which} and q.run_at <= (select now from clock)
            and (q.lease_until is null or q.lease_until <= (select now from clock) or q.lease = any(${unanswered}::uuid[]))
          order by q.run_at, q.id limit ${limit} for update of q skip locked)
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
  held: readonly Held<Id>[],
  take: Sql,
  act: Sql,
  settled: Sql = sql`'settled'`,
): Promise<Verdict[]> {
  const found = await rows(tx, VerdictRow)`
    with clock as materialized (select kernel.now() as now),
         held as materialized (
           select h.id, h.lease, h.n::int as n
             from unnest(${held.map((h) => h.id)}::${idType}[], ${held.map((h) => h.lease)}::uuid[]) with ordinality as h(id, lease, n)),
         mine as materialized (select h.n, ${take} from held h join ${table} q on q.id = h.id and q.lease = h.lease for update of q skip locked),
         ${act}
    select h.n, case when m.id is not null then ${settled}
                     when exists (select from ${table} q where q.id = h.id and q.lease = h.lease) then 'busy'
                     else 'lost' end as verdict
      from held h left join mine m on m.n = h.n
     order by h.n`;
  return found.map((f) => f.verdict);
}

/** A lease that lapsed but that nobody has taken since is still ours to renew. */
export const renew = <Id>(tx: Tx, queue: Queue, held: readonly (Held<Id> & { leaseSeconds: number })[]): Promise<Verdict[]> =>
  settle(
    tx,
    queue,
    held,
    sql`q.id`,
    sql`span as (select n::int, s from unnest(${held.map((h) => h.leaseSeconds)}::int[]) with ordinality as l(s, n)),
        renewed as (update ${queue.table} q set lease_until = clock.now + make_interval(secs => span.s)
                      from mine join span using (n), clock where q.id = mine.id)`,
  );
