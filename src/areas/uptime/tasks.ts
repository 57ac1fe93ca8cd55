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
 * What an earlier release wrote, before this one came or beside it during an upgrade, is sealed. Safe to run twice, and to be killed: each
 * portion is one transaction, and until then the monitor is checked, and hidden from readers, as if it were sealed.
 */
export const sealTargets = task('uptime.seal-targets', { everySeconds: 60, deadlineSeconds: 120 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write((tx) => sealSome(tx, app.secrets))) > 0);
});

/** Whatever became of a job, what monitors have to say is told. Safe to run twice: a service whose job is there gets no other. */
export const findLostNotifications = task('uptime.find-lost-tellings', { everySeconds: 60, deadlineSeconds: 60 }, async ({ app, log }) => {
  const services = await app.db.write(requeueLostNotifications);
  if (services) log.error({ services }, 'what monitors had to say of services waited without a job; it is told now');
});

export const tasks: Task[] = [keepPartitions, forgetOld, sealTargets, findLostNotifications];
