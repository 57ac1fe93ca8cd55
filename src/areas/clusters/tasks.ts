import { type Task, task } from '../../kernel/jobs/index.ts';
import { removeLostAccess } from './engine/access.ts';
import { removeBackups, sweepBackupObjects } from './engine/backups/index.ts';
import { forgetOldCertificates, renewDue } from './engine/renewal.ts';
import type { OpenClusters } from './open.ts';

/** Renews certificates at two thirds of their lifetime. Safe to run twice: a renewal is written only over the revision it was made from. */
export const renewCertificates = task('clusters.renew-certificates', { everySeconds: 300, deadlineSeconds: 240 }, ({ app, signal }) =>
  renewDue(app, signal),
);

/** Removes client configurations of tokens and users that lost the right to one. Safe to run twice. */
export const removeAccess = task<OpenClusters>(
  'clusters.remove-access',
  { everySeconds: 15, deadlineSeconds: 120 },
  ({ app, signal, log }, { tenants }) => removeLostAccess(app, tenants, signal, log),
);

/** Deletes rows of expired node certificates. Safe to run twice. */
export const forgetCertificates = task('clusters.forget-certificates', { everySeconds: 3_600, deadlineSeconds: 120 }, ({ app, signal }) =>
  forgetOldCertificates(app, signal),
);

/** Removes backups above the seven of each cluster, those of deleted clusters, and what an interrupted one left. Safe to run twice. */
export const removeOldBackups = task('clusters.remove-backups', { everySeconds: 60, deadlineSeconds: 300 }, ({ app, signal }) =>
  removeBackups(app, signal),
);

/** Removes objects of backups without a row. Safe to run twice. */
export const sweepBackups = task('clusters.sweep-backups', { everySeconds: 86_400, deadlineSeconds: 1_800 }, ({ app, signal }) =>
  sweepBackupObjects(app, signal),
);

export const tasks: Task<OpenClusters>[] = [renewCertificates, removeAccess, forgetCertificates, removeOldBackups, sweepBackups];
