import { ClusterError } from '../../../../drivers/cluster-error.ts';
import { drivers } from '../../../../drivers/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { checkSecondsOf, keptBackups } from '../../rules/backups.ts';
import * as store from '../../store/backups.ts';
import type { HeldLease } from '../../store/shards.ts';
import { findPki } from '../pki.ts';
import { planeOptionsOf } from '../plane-options.ts';
import type { RunningCluster, ShardServices } from '../shard/run-cluster.ts';
import { maxCopyBytes, readBackup } from './content.ts';
import { isPassing, sentenceOfFailure } from './failure.ts';
import { tellOwners } from './tell.ts';

/** What an interrupted check leaves is removed after this time. */
const leftSeconds = 900;
const keepIntervalMs = 60_000;

type CheckServices = Pick<ShardServices, 'app' | 'binaries' | 'unread'>;

/**
 * Restores a backup into a control plane of its own, and compares what that lists with what the backup has. Notes the outcome, and tells a failure.
 * Where the disk has no room for it, or the storage or the database is away, it is tried again later.
 */
export async function checkBackup(
  services: CheckServices,
  held: HeldLease,
  running: RunningCluster,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const { app } = services;
  const keep = () => app.db.write((tx) => store.keepCheck(tx, held, id, leftSeconds));
  if ((await keep()) === 0) return;
  const backup = await app.db.read((tx) => store.findBackup(tx, id));
  if (!backup) return;
  const keeping = setInterval(() => void keep().catch(() => {}), keepIntervalMs); // the next one follows
  const outcome = await outcomeOfCheck(services, running, backup, signal).finally(() => clearInterval(keeping));
  if (signal.aborted) return void (await app.db.write((tx) => store.leaveCheck(tx, id)));
  const { org_id: org, id: cluster, name } = running.row;
  await app.db.write(async (tx) => {
    hint(tx, org, 'clusters.cluster');
    if ('postponed' in outcome) {
      const isNews = await store.postponeCheck(tx, id, outcome.postponed);
      if (isNews) app.log.warn({ cluster, backup: id, why: outcome.postponed }, 'a backup of a cluster is not checked yet');
      return;
    }
    const { failure } = outcome;
    const isNews = await store.endCheck(tx, { id, failure: failure ?? null, kept: keptBackups });
    if (isNews && failure !== undefined)
      await tellOwners(tx, app, { org, cluster, name, failure: `the backup ${id} could not be restored: ${failure}` });
  });
}

type Outcome = { postponed: string } | { failure: string | undefined };

async function outcomeOfCheck(
  services: CheckServices,
  running: RunningCluster,
  backup: store.BackupRow,
  stopped: AbortSignal,
): Promise<Outcome> {
  const { app } = services;
  const seconds = checkSecondsOf(backup.content_bytes ?? maxCopyBytes(backup.store, running.row));
  const tooLong = AbortSignal.timeout(seconds * 1000);
  try {
    const { stored, listed, expected } = await count(services, running, backup, AbortSignal.any([stopped, tooLong]));
    if (stored !== backup.objects) throw new ClusterError(`${stored} of its ${backup.objects} objects were restored`);
    if (listed !== expected) throw new ClusterError(`its control plane lists ${listed} of ${expected} objects`);
    return { failure: undefined };
  } catch (error) {
    if (isPassing(error)) return { postponed: sentenceOfFailure(error) };
    if (!stopped.aborted)
      app.log.warn(
        { err: error, cluster: backup.cluster_id, backup: backup.id },
        'a backup of a cluster could not be restored for its check',
      );
    return { failure: tooLong.aborted ? `its check took longer than ${Math.round(seconds / 60)} minutes` : sentenceOfFailure(error) };
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
  return check(app, parts, { kind: backup.store, revision: backup.revision, bytes: backup.content_bytes ?? undefined, content }, signal);
}
