import { randomUUID } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../db/index.ts';
import type { Task } from './declare.ts';

export const taskLeaseSeconds = 30;

export const ensureTasks = (tx: Tx, tasks: readonly Task[]) => run(tx)`
  insert into kernel.task (name, next_at) select name, kernel.now() from unnest(${tasks.map((t) => t.name)}::text[]) name on conflict do nothing`;

const TaskRow = Type.Object({
  name: Type.String(),
  /** Set if this statement claimed it. */
  lease: Type.Union([Type.String(), Type.Null()]),
  started_at: Type.Union([Type.String(), Type.Null()]),
  in_ms: Type.Integer(),
});
export type TaskState = Static<typeof TaskRow>;

/**
 * Claims tasks that are due, or woken, and not leased; returns for all of them when they are next due. A next time further away than the
 * task's own interval can only come from a clock that was set back, and counts as due.
 */
export const claimTasks = (tx: Tx, tasks: readonly { name: string; everySeconds: number; woken: boolean }[]): Promise<TaskState[]> => rows(
  tx,
  TaskRow,
)`
  with clock as materialized (select kernel.now() as now),
       known as materialized (
         select * from unnest(${tasks.map((t) => t.name)}::text[], ${tasks.map((t) => t.everySeconds)}::float8[], ${tasks.map((t) => t.woken)}::bool[])
                    as k(name, every, woken)),
       due as materialized (
         select t.name from kernel.task t join known k on k.name = t.name, clock
          where (t.next_at <= clock.now or k.woken or t.next_at > clock.now + make_interval(secs => k.every))
            and (t.lease_until is null or t.lease_until <= clock.now)
            for update of t skip locked),
       taken as (
         update kernel.task t set lease = ${randomUUID()}::uuid, lease_until = clock.now + make_interval(secs => ${taskLeaseSeconds}), started_at = clock.now
           from due, clock where t.name = due.name returning t.name, t.lease)
  select t.name, taken.lease, t.started_at, ceil(greatest(0, least(extract(epoch from t.next_at - clock.now) * 1000, 1e6)))::int as in_ms
    from kernel.task t join known k on k.name = t.name left join taken on taken.name = t.name, clock`;

const NameRow = Type.Object({ name: Type.String() });

/** Returns the tasks whose lease still holds. Leases of a clock that was set back are shortened on the way, as with jobs. */
export const renewTasks = async (tx: Tx, leased: readonly { name: string; lease: string }[]): Promise<Set<string>> => {
  await run(tx)`update kernel.task set lease_until = kernel.now() + make_interval(secs => ${taskLeaseSeconds})
                 where lease_until > kernel.now() + make_interval(secs => ${2 * taskLeaseSeconds})`;
  const renewed = await rows(tx, NameRow)`
    update kernel.task t set lease_until = kernel.now() + make_interval(secs => ${taskLeaseSeconds})
      from unnest(${leased.map((l) => l.name)}::text[], ${leased.map((l) => l.lease)}::uuid[]) as l(name, lease)
     where t.name = l.name and t.lease = l.lease returning t.name`;
  return new Set(renewed.map((r) => r.name));
};

/** False: the lease was lost. */
export const taskDone = async (tx: Tx, name: string, lease: string, everySeconds: number): Promise<boolean> =>
  (await run(tx)`
    update kernel.task set lease = null, lease_until = null, failures = 0, last_error = null, last_ok = kernel.now(),
                           next_at = kernel.now() + make_interval(secs => ${everySeconds})
     where name = ${name} and lease = ${lease}`) > 0;

/** A failed task does not wait a day for its next run: 5 s · 2ⁿ, at most its own interval or an hour. */
export const taskFailed = async (tx: Tx, name: string, lease: string, everySeconds: number, error: string): Promise<boolean> =>
  (await run(tx)`
    update kernel.task set lease = null, lease_until = null, failures = failures + 1, last_error = ${error},
                           next_at = kernel.now() + make_interval(secs => least(${everySeconds}, 3600, 5 * 2 ^ least(failures, 20)))
     where name = ${name} and lease = ${lease}`) > 0;

/** Released unfinished: the next process that polls claims it. */
export const taskReleased = async (tx: Tx, name: string, lease: string): Promise<boolean> =>
  (await run(
    tx,
  )`update kernel.task set lease = null, lease_until = null, next_at = kernel.now() where name = ${name} and lease = ${lease}`) > 0;
