import { type Task, task } from '../../kernel/jobs/index.ts';
import * as housekeeping from './engine/housekeeping.ts';
import { requeueLostNotifications } from './engine/notify-oncall.ts';
import { sealSome } from './engine/seal-targets.ts';

export const keepPartitions = task('uptime.keep-partitions', { everySeconds: 600, deadlineSeconds: 120 }, ({ app, signal, log }) =>
  housekeeping.keepPartitions(app.db, signal, log),
);

export const forgetOld = task('uptime.forget-old', { everySeconds: 3_600, deadlineSeconds: 120 }, ({ app, signal }) =>
  housekeeping.forgetOld(app.db, signal),
);

/**
 * Seals targets that an earlier release wrote, before the upgrade or beside this release. Safe to run twice and to be killed: each batch is
 * one transaction, and an unsealed monitor is checked, and masked for readers, like a sealed one.
 */
export const sealTargets = task('uptime.seal-targets', { everySeconds: 60, deadlineSeconds: 120 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write((tx) => sealSome(tx, app.secrets))) > 0);
});

/** Gives notifications whose job is lost another one. Safe to run twice: a service that has a job gets no other. */
export const findLostNotifications = task('uptime.find-lost-tellings', { everySeconds: 60, deadlineSeconds: 60 }, async ({ app, log }) => {
  const services = await app.db.write(requeueLostNotifications);
  if (services) log.error({ services }, 'what monitors had to say of services waited without a job; it is told now');
});

export const tasks: Task[] = [keepPartitions, forgetOld, sealTargets, findLostNotifications];
