/**
 * Jobs and tasks: background work in PostgreSQL. docs/areas/kernel.md has the crash table.
 *
 * Actors. A transaction enqueues a job (enqueue.ts): one row of kernel.job, unique by (kind, key) while it is unfinished. A worker (worker.ts)
 * runs one loop for each lane (lane.ts, with its state in lane-state.ts) and one loop for tasks (tasks.ts).
 *
 * Flow. COMMIT → wake (wake.ts; wake-sender.ts batches the NOTIFY to other processes, news.ts the hints for people) → the lane claims due rows under a fresh lease (lease.ts,
 * store.ts), by organization in turn while the lane is behind → run.ts runs the handler → outcome.ts chooses the outcome → recorder.ts writes
 * outcomes in batches. leased-jobs.ts renews all leases of the process every 10 s and aborts the signal of a job whose lease is lost. A kind
 * with `beginsHere` is inserted under a lease of this process and starts after COMMIT, without a claim.
 *
 * States. waiting (`lease` null, `run_at` may lie ahead) → running (`lease`, `lease_until`) → done (row deleted), waiting again or dead (`dead_at`,
 * attempts used up). Waiting again: failed (later), stopped (the attempt does not count), or rescheduled while running (`again_at`, fresh attempts).
 *
 * Crashes. A job survives every crash after COMMIT; its lease lapses (30 s by default) and another worker runs it: at least once. Every outcome
 * and every fenced effect names the lease, so a worker that lost it changes nothing. With `finishWith` the effects and the end commit together.
 *
 * A task (task-store.ts, leased-task.ts) is a row of kernel.task that runs by the clock or when woken, in one process at a time.
 */

export * as jobAdmin from './admin.ts';
export {
  type Job,
  type JobOptions,
  type JobRun,
  job,
  type Lane,
  lanes,
  type NamedJob,
  type ReadyJob,
  type ReadyTask,
  RetryAt,
  RetryIn,
  type Task,
  type TaskRun,
  task,
} from './declare.ts';
export {
  cancel,
  enqueue,
  enqueueAll,
  enqueueMany,
  hasJob,
  moveOrEnqueue,
  type NewJob,
  postponeMany,
  reschedule,
  rescheduleMany,
  type WantedJob,
} from './enqueue.ts';
export { failingFor, type JobFigures, jobFigures } from './figures.ts';
export { claim, claimFairly, type FairClaim, type Leased, maxOrgsPerWalk, orgsAfter, type Queue, renew, settle } from './lease.ts';
export { type HearNews, hint, hintEach } from './news.ts';
export { type Channel, channelNamed, clockMoved, makeWaker, type Waker, wake } from './wake.ts';
export { startWorker, type Worker, type WorkerEvents, type WorkerOptions } from './worker.ts';
