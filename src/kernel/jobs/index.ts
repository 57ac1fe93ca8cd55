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
export { claim, claimFairly, type FairClaim, type Leased, mostOrgs, orgsAfter, type Queue, renew, settle } from './lease.ts';
export { type Channel, channelNamed, clockMoved, makeWaker, type Waker, wake } from './wake.ts';
export { startWorker, type Worker, type WorkerEvents, type WorkerOptions } from './worker.ts';
