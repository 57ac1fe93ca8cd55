import { ClusterError } from '../../../../drivers/cluster-error.ts';
import { drivers } from '../../../../drivers/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import * as store from '../../store/backups.ts';
import type { HeldLease } from '../../store/shards.ts';
import { findPki } from '../pki.ts';
import { planeOptionsOf } from '../plane-options.ts';
import type { RunningCluster, ShardServices } from '../shard/run-cluster.ts';
import { maxCopyBytes, readBackup } from './content.ts';
import { sentenceOfFailure } from './failure.ts';
import { tellOwners } from './tell.ts';

/** What an interrupted check leaves is removed after this time. */
const maxCheckSeconds = 900;

type CheckServices = Pick<ShardServices, 'app' | 'binaries' | 'unread'>;

/** Restores a backup into a control plane of its own, and compares what that lists with what the backup has. Notes the outcome, and tells a failure. */
export async function checkBackup(
  services: CheckServices,
  held: HeldLease,
  running: RunningCluster,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const { app } = services;
  if ((await app.db.write((tx) => store.beginCheck(tx, held, id, maxCheckSeconds))) === 0) return;
  const backup = await app.db.read((tx) => store.findBackup(tx, id));
  if (!backup) return;
  const failure = await failureOfCheck(services, running, backup, AbortSignal.any([signal, AbortSignal.timeout(maxCheckSeconds * 1000)]));
  if (signal.aborted) return void (await app.db.write((tx) => store.leaveCheck(tx, id)));
  const { org_id: org, id: cluster, name } = running.row;
  await app.db.write(async (tx) => {
    hint(tx, org, 'clusters.cluster');
    const isNews = await store.endCheck(tx, id, failure ?? null);
    if (isNews && failure !== undefined)
      await tellOwners(tx, app, { org, cluster, name, failure: `the backup ${id} could not be restored: ${failure}` });
  });
}

/** Undefined: everything is there. */
async function failureOfCheck(
  services: CheckServices,
  running: RunningCluster,
  backup: store.BackupRow,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { app } = services;
  try {
    const { stored, listed, expected } = await count(services, running, backup, signal);
    if (stored !== backup.objects) throw new ClusterError(`${stored} of its ${backup.objects} objects were restored`);
    if (listed !== expected) throw new ClusterError(`its control plane lists ${listed} of ${expected} objects`);
    return undefined;
  } catch (error) {
    if (!signal.aborted)
      app.log.warn(
        { err: error, cluster: backup.cluster_id, backup: backup.id },
        'a backup of a cluster could not be restored for its check',
      );
    return sentenceOfFailure(error);
  }
}

async function count(
  { app, binaries, unread }: CheckServices,
  { row, endpoint }: RunningCluster,
  backup: store.BackupRow,
  signal: AbortSignal,
) {
  const check = drivers[row.driver]?.checkCopy;
  const pki = await app.db.read((tx) => findPki(tx, app, row.id));
  if (!check || !pki) throw new Error('there is nothing to check it with');
  // The version of the backup, where it is still there: a newer one may have other objects of its own.
  const version = (await binaries.find(backup.version)) === undefined ? row.version : backup.version;
  const cluster = () => ({ ...row, version });
  const parts = planeOptionsOf(app, { cluster, pki, endpoint, isRefused: () => false, binaries, unread });
  const content = readBackup(app, backup, { maxBytes: maxCopyBytes(backup.store, row), onBytes: () => {} });
  return check(app, parts, { kind: backup.store, revision: backup.revision, content }, signal);
}
