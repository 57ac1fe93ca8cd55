import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../db/index.ts';
import { type Lane, lanes, type NamedJob } from './declare.ts';

const LaneRow = Type.Object({ lane: Type.String(), oldest_due_seconds: Type.Number() });
const TaskRow = Type.Object({ name: Type.String(), since_ok_seconds: Type.Union([Type.Number(), Type.Null()]), failures: Type.Integer() });
const DeadRow = Type.Object({ dead: Type.Integer() });
const FailingRow = Type.Object({ seconds: Type.Number() });

/** The age of a lane's oldest job that has failed and is being retried; without `except`, whose failures have external causes. */
export const failingFor = async (tx: Tx, lane: Lane, except: NamedJob): Promise<number> =>
  (await row(tx, FailingRow)`
    select coalesce(extract(epoch from kernel.now() - min(created_at)), 0)::float8 as seconds from kernel.job
     where lane = ${lane} and kind <> ${except.kind} and dead_at is null and attempts > 1`)!.seconds;

/** The state of background work in the database, the same from every process. */
export interface JobFigures {
  /** 0 when nothing waits. A growing value means that no worker takes the jobs: too few slots, or none that knows the kind. */
  lanes: Static<typeof LaneRow>[];
  dead: number;
  tasks: Static<typeof TaskRow>[];
}

export const jobFigures = async (tx: Tx): Promise<JobFigures> => ({
  lanes: await rows(tx, LaneRow)`
    with clock as materialized (select kernel.now() as now)
    select l.lane, coalesce((select extract(epoch from clock.now - greatest(j.run_at, j.lease_until)) from kernel.job j
                              where j.lane = l.lane and j.dead_at is null and j.run_at <= (select now from clock)
                                and (j.lease_until is null or j.lease_until <= (select now from clock))
                              order by j.run_at limit 1), 0)::float8 as oldest_due_seconds
      from unnest(${lanes}::text[]) as l(lane), clock`,
  dead: (await row(tx, DeadRow)`select count(*) as dead from kernel.job where dead_at is not null`)!.dead,
  tasks: await rows(tx, TaskRow)`
    select name, extract(epoch from kernel.now() - last_ok)::float8 as since_ok_seconds, failures from kernel.task order by name`,
});
