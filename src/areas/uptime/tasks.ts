import { DatabaseAway } from '../../kernel/db.ts';
import { type Task, task } from '../../kernel/jobs/index.ts';
import { sealSome } from './engine/seal-targets.ts';
import { prune } from './store/instances.ts';
import { dropOldFailures, dropPartition, dropSurplusFailures, makeAhead, outlived } from './store/partitions.ts';

const daysAhead = 2;
const keep = { resultDays: 8, rollupDays: 35, failureDays: 30, failures: 200 };
const mostRefusals = 5;

/** Room for the results of the next days, and what is outlived goes whole. What a long read holds is dropped by a later run. */
export const keepPartitions = task('uptime.keep-partitions', { everySeconds: 600, deadlineSeconds: 120 }, async ({ app, signal, log }) => {
  await app.db.write((tx) => makeAhead(tx, daysAhead));
  const waiting = await app.db.read((tx) => outlived(tx, keep));
  for (let refusals = 0; waiting.length && !signal.aborted; ) {
    const dropped = await app.db
      .write((tx) => dropPartition(tx, waiting[0]!))
      .then(
        () => true,
        (error) => (error instanceof DatabaseAway ? false : Promise.reject(error)),
      );
    if (dropped) waiting.shift();
    else if (++refusals >= mostRefusals)
      return log.info({ partitions: waiting }, 'outlived results are being read; they are dropped later');
  }
});

/** Failures beyond what anybody is shown, and probers that will not come back. */
export const forgetOld = task('uptime.forget-old', { everySeconds: 3_600, deadlineSeconds: 120 }, async ({ app, signal }) => {
  await app.db.write((tx) => dropOldFailures(tx, keep.failureDays));
  while (!signal.aborted && (await app.db.write((tx) => dropSurplusFailures(tx, keep.failures))) > 0);
  await app.db.write(prune);
});

/**
 * What an earlier release wrote, before this one came or beside it during an upgrade, is sealed. Safe to run twice, and to be killed: each
 * portion is one transaction, and until then the monitor is checked, and hidden from readers, as if it were sealed.
 */
export const sealTargets = task('uptime.seal-targets', { everySeconds: 60, deadlineSeconds: 120 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write((tx) => sealSome(tx, app.secrets))) > 0);
});

export const tasks: Task[] = [keepPartitions, forgetOld, sealTargets];
