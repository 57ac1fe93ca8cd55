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

// On-call is notified of monitors by jobs, so that a failure there cannot block the ingestion of results. The transaction that changes a
// monitor decides what on-call must be sent, and writes the notification together with a job. The job delivers it in its own transaction.
//
//   crash or failure                              what is stored, and what follows
//   the batch's transaction is rolled back        neither state, nor notification, nor job: the prober sends the batch again
//   after its commit, before the job runs         notification and job are stored; any worker claims the job
//   during the delivery                           on-call's rows, the notification's end and the job's end are one transaction: rolled back, retried
//   after the delivery has committed              all three are stored; a worker that missed the commit cannot finish the job again
//   on-call throws                                rolled back as above; retried with backoff up to 30 s, and never given up
//   the job itself is lost or dropped             a task finds notifications without a job, gives them one, and logs it
//
// Order: transactions that change one monitor lock its state, so its notifications are numbered in order of occurrence. A delivery locks a
// monitor's notifications and delivers all committed ones, oldest first. Whichever job runs first, `down` comes before the `up` that
// followed it. A monitor that went down and up before any job ran leaves an incident that was opened and resolved. Each transaction
// enqueues one job per service, with a key of its own, so the insert never waits for a job of the same service that is running.
//
// On-call takes one delivery for a service at a time, so one job delivers for all monitors of a service. Many outages at once do not fill
// the lane that pages are sent from, and after some monitors the job yields to the pages that wait there. Each monitor is a transaction of
// its own: one that on-call cannot take stops no other.

const maxBackoffSeconds = 30;

/** Backoff that grows from half a second, ± 20 %, so that jobs that failed together do not retry together. */
const backoffSeconds = (attempt: number) => (Math.min(maxBackoffSeconds, 2 ** Math.min(attempt - 2, 10)) * randomInt(80, 121)) / 100;

/** Failed attempts before the error is logged. */
const attemptsBeforeLogging = 3;

/**
 * For these attempts a job that cannot get the delivery lock retries, so that it does not hold a connection that pages need. Later attempts
 * wait for the lock, so that the job does get it.
 */
const attemptsWithoutLockWait = 8;
const lockRetrySeconds = 0.25;

/** Monitors per run. The rest follow in another job, behind the pages that wait in the lane. */
export const monitorsPerRun = 25;

/**
 * Delivers the pending notifications of a service's monitors. Safe to run twice: a delivered notification is deleted in the same
 * transaction.
 */
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
            // This job has ended by then, so its key is free.
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

/** The same without a job, for a caller that cannot wait for it. Notifications pending after this returns were committed later. */
export async function notifyOncallNow(db: Db, org: string, serviceId: string): Promise<void> {
  for (const id of await db.read((tx) => monitorsWithPending(tx, org, serviceId))) await db.write((tx) => deliverPending(tx, org, id));
}

/**
 * Notifications that have waited for longer than any job takes to start, and whose job is gone, get another job. Returns the number of
 * services.
 */
export async function requeueLostNotifications(tx: Tx): Promise<number> {
  const late = await overdueNotifications(tx, overdueSeconds, notifyOncall);
  return enqueueMany(
    tx,
    notifyOncall,
    late.map(({ org_id: org, service_id, no }) => ({ key: keyOf(service_id, no), org })),
  );
}
const overdueSeconds = 60;

/** The newest notification of a service in its transaction: its job is still there, or has delivered everything written before. */
const keyOf = (serviceId: string, no: number) => `${serviceId} ${no}`;

export async function deliverPending(tx: Tx, org: string, monitorId: string): Promise<void> {
  const untold = await lockNotifications(tx, org, monitorId);
  // On-call ignores alerts of a deleted service.
  for (const { alert } of untold) await receiveMonitorAlert(tx, org, alert);
  if (untold.length) await deleteNotifications(tx, org, monitorId, untold.at(-1)!.no);
}

/**
 * Queues notifications to on-call, in the given order for each monitor. They are delivered soon after this transaction commits. The
 * monitors' states are locked.
 */
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
