import { DatabaseUnavailable, type Db } from '../../../kernel/db/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { deleteOldInstances } from '../store/instances.ts';
import { dropOldFailures, dropPartition, dropSurplusFailures, expiredPartitions, makeAhead } from '../store/partitions.ts';
import { dropOldHalfHours } from '../store/results.ts';

const daysAhead = 2;
const keep = { resultDays: 8, rollupDays: 35, halfHourDays: 2, failureDays: 30, failures: 200 };
const maxRefusals = 5;
const failuresPerDelete = 5_000;
const halfHoursPerDelete = 5_000;

/** Makes the partitions of the next days and drops expired ones. A partition that a long read locks is dropped by a later run. */
export async function keepPartitions(db: Db, signal: AbortSignal, log: Logger): Promise<void> {
  await db.write((tx) => makeAhead(tx, daysAhead));
  const waiting = await db.read((tx) => expiredPartitions(tx, keep));
  for (let refusals = 0; waiting.length && !signal.aborted; ) {
    const dropped = await db
      .write((tx) => dropPartition(tx, waiting[0]!))
      .then(
        () => true,
        (error) => (error instanceof DatabaseUnavailable ? false : Promise.reject(error)),
      );
    if (dropped) waiting.shift();
    else if (++refusals >= maxRefusals) return log.info({ partitions: waiting }, 'outlived results are being read; they are dropped later');
  }
}

/** Deletes failures beyond those that the API shows, half hours beyond those of a summary, and instances of probers that are gone. */
export async function forgetOld(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await db.write((tx) => dropOldFailures(tx, keep.failureDays, failuresPerDelete))) === failuresPerDelete);
  while (!signal.aborted && (await db.write((tx) => dropSurplusFailures(tx, keep.failures))) > 0);
  while (!signal.aborted && (await db.write((tx) => dropOldHalfHours(tx, keep.halfHourDays, halfHoursPerDelete))) === halfHoursPerDelete);
  await db.write(deleteOldInstances);
}
