import { randomInt } from 'node:crypto';
import type { Db, Tx } from '../../../kernel/db/index.ts';
import { enqueue, enqueueMany, job, RetryIn } from '../../../kernel/jobs/index.ts';
import { receiveMonitorAlert, tryLockDeliveries } from '../../oncall/index.ts';
import {
  deleteNotifications,
  insertNotifications,
  lockNotifications,
  monitorsWithPending,
  type OncallNotification,
  overdueNotifications,
} from '../store/oncall-notifications.ts';

// On-call hears of monitors by jobs, so that nothing that goes wrong there can keep results from being taken. Whoever moves a monitor
// decides in its own transaction what on-call must be told, and writes that down with a job. The job tells it, in a transaction of its own.
//
//   what ends in between                          what is there, and what follows
//   the batch's transaction is undone             neither the new state, nor a telling, nor a job: the batch comes again
//   after it has committed, before the job        telling and job are there; any worker claims the job
//   while on-call is being told                   on-call's rows, the telling's end and the job's end are one transaction: undone, and again
//   after that has committed                      all three are there; a worker that did not hear of it cannot finish the job once more
//   on-call throws                                undone as above; again after a pause that grows to half a minute, and never given up
//   the job itself is lost or dropped             a task finds tellings without one, gives them another, and says so in the log
//
// Order: the transactions that decide about one monitor come one after the other (they lock its state), so its tellings are numbered in
// the order of what happened. Whoever tells a monitor tells everything of it that was committed before, oldest first, and locks it
// meanwhile: whichever job runs first, `down` comes before the `up` that followed it, and a monitor that went down and up again before
// anybody ran leaves an incident that was opened and resolved. Each transaction has its jobs, one for each service, with keys of their own:
// to insert them waits for nobody, least of all for a job of the same service that is being run.
//
// On-call takes one delivery for a service at a time, so one job tells all monitors of a service that have changed together: many at once
// do not fill the lane that pages are sent from, and after some of them it lets whoever else waits there go first. Each monitor is a transaction of its own: one that on-call cannot take stops no other.

const maxBackoffSeconds = 30;

/** Growing from half a second, ± 20 %, so that what failed together does not come back together. */
const backoffSeconds = (attempt: number) => (Math.min(maxBackoffSeconds, 2 ** Math.min(attempt - 2, 10)) * randomInt(80, 121)) / 100;

/** So often that it is no accident. */
const attemptsBeforeLogging = 3;

/** So often it comes again, rather than wait for its turn with a connection that pages need; then it waits, so that its turn does come. */
const attemptsWithoutLockWait = 8;
const lockRetrySeconds = 0.25;

/** So many monitors are told in one run; then others who wait in the lane for pages have their turn, and the rest follows behind them. */
export const monitorsPerRun = 25;

/** Tells on-call what it has not heard of the monitors of a service. Safe to run twice: what was told is gone in the same transaction. */
export const notifyOncall = job(
  'uptime.tell-oncall',
  { lane: 'page', leaseSeconds: 20, maxAttempts: Number.POSITIVE_INFINITY, retry: backoffSeconds },
  async ({ key, org = '', db, attempt, log, signal, fence, finishWith }) => {
    const serviceId = key.split(' ', 1)[0]!;
    const tell = async (tx: Tx, monitorId: string) => {
      if (attempt <= attemptsWithoutLockWait && !(await tryLockDeliveries(tx, org, serviceId)))
        throw new RetryIn(lockRetrySeconds, 'somebody else delivers to this service at the moment');
      await deliverPending(tx, org, monitorId);
    };
    const monitors = await db.read((tx) => monitorsWithPending(tx, org, serviceId));
    const failures: unknown[] = [];
    for (const [i, id] of monitors.entries()) {
      signal.throwIfAborted();
      const isLast = (i === monitors.length - 1 || i === monitorsPerRun - 1) && failures.length === 0;
      const told = isLast
        ? finishWith(async (tx) => {
            await tell(tx, id);
            // This one has ended by then, so its key is free.
            if (i < monitors.length - 1) await enqueue(tx, notifyOncall, { key, org });
          })
        : db.write(async (tx) => {
            await fence(tx);
            await tell(tx, id);
          });
      await told.catch((error) => {
        if (error instanceof RetryIn) throw error;
        failures.push(error);
      });
      if (isLast && failures.length === 0) return;
    }
    if (failures.length === 0) return;
    if (attempt === attemptsBeforeLogging)
      log.error({ err: failures[0], serviceId }, 'on-call does not take what monitors say of a service; it is told again until it does');
    throw failures[0];
  },
);

/** The same without a job, for somebody who cannot wait for it: what is under way when this returns was committed later. */
export async function notifyOncallNow(db: Db, org: string, serviceId: string): Promise<void> {
  for (const id of await db.read((tx) => monitorsWithPending(tx, org, serviceId))) await db.write((tx) => deliverPending(tx, org, id));
}

/** Tellings that wait for longer than any job takes to begin, and whose job is gone: they get another. How many services that were. */
export async function requeueLostNotifications(tx: Tx): Promise<number> {
  const late = await overdueNotifications(tx, overdueSeconds, notifyOncall);
  return enqueueMany(
    tx,
    notifyOncall,
    late.map(({ org_id: org, service_id, no }) => ({ key: keyOf(service_id, no), org })),
  );
}
const overdueSeconds = 60;

/** The newest telling of a service in its transaction: its job is still there, or has told all that was written before. */
const keyOf = (serviceId: string, no: number) => `${serviceId} ${no}`;

export async function deliverPending(tx: Tx, org: string, monitorId: string): Promise<void> {
  const untold = await lockNotifications(tx, org, monitorId);
  // A service that is gone has nobody to be told.
  for (const { alert } of untold) await receiveMonitorAlert(tx, org, alert);
  if (untold.length) await deleteNotifications(tx, org, monitorId, untold.at(-1)!.no);
}

/** On-call is told of these, soon after this transaction has committed; of one monitor in the order given. Its state is locked. */
export async function enqueueNotifications(tx: Tx, tellings: readonly OncallNotification[]): Promise<void> {
  if (!tellings.length) return;
  const written = await insertNotifications(tx, tellings);
  const newest = new Map(written.toSorted((a, b) => a.no - b.no).map((w) => [w.service_id, w]));
  await enqueueMany(
    tx,
    notifyOncall,
    [...newest.values()].map(({ org_id: org, service_id, no }) => ({ key: keyOf(service_id, no), org })),
  );
}
