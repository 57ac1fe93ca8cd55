import Type, { type Static } from 'typebox';
import { isUniqueViolation, row, rows, run, type Tx } from '../db/index.ts';
import { conflict, notFound } from '../errors.ts';
import { type Sql, sql } from '../sql.ts';
import { lanes } from './declare.ts';
import { laneChannel } from './wake.ts';

// The implementation of `quarterdeck admin jobs`.

const nullable = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) => Type.Union([schema, Type.Null()]);

const JobRow = Type.Object({
  id: Type.Integer(),
  lane: Type.String(),
  kind: Type.String(),
  key: Type.String(),
  org_id: nullable(Type.String()),
  request_id: nullable(Type.String()),
  attempts: Type.Integer(),
  run_at: Type.String(),
  running: Type.Boolean(),
  last_error: nullable(Type.String()),
  dead_at: nullable(Type.String()),
});
export type JobRow = Static<typeof JobRow>;

const columns = sql`id, lane, kind, key, org_id, request_id, attempts, run_at, coalesce(lease_until > kernel.now(), false) as running, last_error, dead_at`;
const kindIs = (kind: string | undefined): Sql => (kind === undefined ? sql`true` : sql`kind = ${kind}`);

/** Newest first. */
export const deadJobs = (tx: Tx, { kind, limit = 100 }: { kind?: string; limit?: number } = {}): Promise<JobRow[]> => rows(tx, JobRow)`
  select ${columns} from kernel.job where dead_at is not null and ${kindIs(kind)} order by dead_at desc, id desc limit ${limit}`;

const WaitingRow = Type.Object({ kind: Type.String(), waiting: Type.Integer() });

/** The number of unfinished jobs of these lanes, due or not, by kind. */
export const countWaiting = (tx: Tx, of: readonly string[]) => rows(tx, WaitingRow)`
  select kind, count(*)::int as waiting from kernel.job where lane = any(${of}::text[]) and dead_at is null group by kind order by kind`;

/** The oldest due jobs of each lane, running or not: they show where it is stuck. */
export const oldestDue = (tx: Tx, { perLane = 10 }: { perLane?: number } = {}): Promise<JobRow[]> => rows(tx, JobRow)`
  select j.* from unnest(${lanes}::text[]) with ordinality as l(lane, n)
    cross join lateral (select ${columns} from kernel.job q where q.lane = l.lane and dead_at is null and run_at <= (select kernel.now())
                         order by run_at limit ${perLane}) j
   order by l.n, j.run_at`;

const LaneRow = Type.Object({ lane: Type.String() });
const revived = sql`dead_at = null, attempts = 0, run_at = kernel.now(), last_error = null`;

/** Returns it to waiting, with all its attempts again. */
export async function retryDead(tx: Tx, id: number): Promise<void> {
  const back = await row(tx, LaneRow)`update kernel.job set ${revived} where id = ${id} and dead_at is not null returning lane`.catch(
    (error) => {
      if (isUniqueViolation(error))
        conflict(`a newer job with the key of ${id} is unfinished; it does the same work, so drop the dead one`);
      throw error;
    },
  );
  if (!back) notFound('dead job');
  else tx.wake(laneChannel(back.lane));
}

/**
 * Of several dead jobs with one key the newest is retried. Dead jobs whose key is unfinished again stay dead. Returns the number of retried
 * jobs.
 */
export async function retryAllDead(tx: Tx, { kind }: { kind?: string } = {}): Promise<number> {
  const back = await rows(tx, LaneRow)`
    update kernel.job j set ${revived}
     where j.id in (select max(d.id) from kernel.job d where d.dead_at is not null and ${kindIs(kind)}
                      and not exists (select from kernel.job u where u.kind = d.kind and u.key = d.key and u.dead_at is null) group by d.kind, d.key)
    returning j.lane`;
  for (const lane of new Set(back.map((b) => b.lane))) tx.wake(laneChannel(lane));
  return back.length;
}

/** Deletes the job. A running one goes on, but cannot finish. */
export async function dropJob(tx: Tx, id: number): Promise<void> {
  if (!(await run(tx)`delete from kernel.job where id = ${id}`)) notFound('job');
}

const TaskRow = Type.Object({
  name: Type.String(),
  running: Type.Boolean(),
  next_at: Type.String(),
  started_at: nullable(Type.String()),
  last_ok: nullable(Type.String()),
  last_error: nullable(Type.String()),
  failures: Type.Integer(),
});

export const listTasks = (tx: Tx): Promise<Static<typeof TaskRow>[]> => rows(tx, TaskRow)`
  select name, coalesce(lease_until > kernel.now(), false) as running, next_at, started_at, last_ok, last_error, failures from kernel.task order by name`;
