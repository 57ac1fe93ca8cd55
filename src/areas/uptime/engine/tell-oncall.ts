import { randomInt } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { enqueueMany, job } from '../../../kernel/jobs/index.ts';
import { receiveMonitorAlert } from '../../oncall/index.ts';
import { deleteTellings, insertTellings, lockTellings, type Telling } from '../store/tellings.ts';

// On-call hears of monitors by jobs, so that nothing that goes wrong there can keep results from being taken. Whoever moves a monitor
// decides in its own transaction what on-call must be told, and writes that down with a job. The job tells it, in a transaction of its own.
//
//   what ends in between                          what is there, and what follows
//   the batch's transaction is undone             neither the new state, nor a telling, nor a job: the batch comes again
//   after it has committed, before the job        telling and job are there; any worker claims the job
//   while on-call is being told                   on-call's rows, the telling's end and the job's end are one transaction: undone, and again
//   after that has committed                      all three are there; a worker that did not hear of it cannot finish the job once more
//   on-call throws                                undone as above; again after a pause that grows to half a minute, and never given up
//
// Order: the transactions that decide about one monitor come one after the other (they lock its state), so its tellings are numbered in
// the order of what happened. A job tells everything of its monitor that was committed before it began, oldest first, and locks it
// meanwhile: whichever job of a monitor runs first, `down` comes before the `up` that followed it, and a monitor that went down and up
// again before anybody ran leaves an incident that was opened and resolved. Each transaction has a job with a key of its own: to insert it
// waits for nobody, least of all for a job of the same monitor that is being run.

const longestPauseSeconds = 30;

/** Growing from half a second, ± 20 %, so that what failed together does not come back together. */
const pauseAfter = (attempt: number) => (Math.min(longestPauseSeconds, 2 ** Math.min(attempt - 2, 10)) * randomInt(80, 121)) / 100;

/** So often that it is no accident. */
const tellingAttempts = 3;

/** Tells on-call what it has not heard of a monitor. Safe to run twice: what was told is gone in the same transaction. */
export const tellOncall = job(
  'uptime.tell-oncall',
  { lane: 'page', leaseSeconds: 20, maxAttempts: Number.POSITIVE_INFINITY, retry: pauseAfter, deadlineSeconds: 60 },
  async ({ key, org = '', attempt, log, finishWith }) => {
    const monitorId = key.split(' ', 1)[0]!;
    try {
      await finishWith((tx) => tellUntold(tx, org, monitorId));
    } catch (error) {
      if (attempt === tellingAttempts)
        log.error({ err: error, monitor: monitorId }, 'on-call does not take the alert of a monitor; it is told again until it does');
      throw error;
    }
  },
);

export async function tellUntold(tx: Tx, org: string, monitorId: string): Promise<void> {
  const untold = await lockTellings(tx, org, monitorId);
  // A service that is gone has nobody to be told.
  for (const { alert } of untold) await receiveMonitorAlert(tx, org, alert);
  if (untold.length) await deleteTellings(tx, org, monitorId, untold.at(-1)!.no);
}

/** On-call is told of these, soon after this transaction has committed; of one monitor in the order given. Its state is locked. */
export async function tellLater(tx: Tx, tellings: readonly Telling[]): Promise<void> {
  if (!tellings.length) return;
  const written = await insertTellings(tx, tellings);
  const newest = new Map(written.toSorted((a, b) => a.no - b.no).map((w) => [w.monitor_id, w]));
  await enqueueMany(
    tx,
    tellOncall,
    [...newest.values()].map(({ org_id: org, monitor_id, no }) => ({ key: `${monitor_id} ${no}`, org })),
  );
}
