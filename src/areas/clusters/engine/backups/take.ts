import type { App } from '../../../../kernel/app.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { newStreamKey } from '../../../../kernel/storage/sealed-stream.ts';
import { now } from '../../../../kernel/time.ts';
import { keptBackups } from '../../rules/backups.ts';
import * as store from '../../store/backups.ts';
import type { HeldLease } from '../../store/shards.ts';
import type { RunningCluster } from '../shard/run-cluster.ts';
import { keyPlaceOf, maxCopyBytes, writeBackup } from './content.ts';
import { sentenceOfFailure } from './failure.ts';
import { makeMeter } from './meter.ts';
import { tellOwners } from './tell.ts';

/**
 * Makes one backup of a cluster that this server serves. A kill leaves a row `making`, which the task `clusters.remove-backups` gives up, with
 * its object, once the cluster's lease is another one or has lapsed.
 */
export async function takeBackup(app: App, held: HeldLease, { row, plane }: RunningCluster, signal: AbortSignal): Promise<void> {
  if (!plane.snapshot) throw new Error('its driver makes no snapshots');
  const begunAt = await app.db.read(now);
  const { kind, revision, objects, content } = await plane.snapshot();
  content.on('error', () => {}); // its reader throws
  try {
    const made = await app.db.write(async (tx) => {
      const id = await store.newBackupId(tx);
      const dataKey = app.secrets.seal(newStreamKey(), keyPlaceOf(id));
      return store.insertBackup(tx, held, { id, dataKey, store: kind, version: row.version, revision, objects, begunAt });
    });
    if (!made) throw new Error('the lease on the cluster is lost');
    await completeBackup(app, held, { made, content, maxBytes: maxCopyBytes(kind, row), signal });
  } finally {
    content.destroy();
  }
}

interface MadeBackup extends Pick<Parameters<typeof writeBackup>[2], 'content' | 'maxBytes' | 'signal'> {
  made: store.BackupRow;
}

async function completeBackup(app: App, held: HeldLease, { made, ...written }: MadeBackup): Promise<void> {
  const meter = makeMeter((bytes) => app.db.write((tx) => store.countBytes(tx, made.id, bytes)));
  try {
    const { bytes, contentBytes } = await writeBackup(app, made, { ...written, onBytes: meter.add });
    await meter.end();
    const isComplete = await app.db.write((tx) => {
      hint(tx, made.org_id, 'clusters.cluster');
      return store.completeBackup(tx, held, { id: made.id, bytes, contentBytes, kept: keptBackups });
    });
    if (!isComplete) throw new Error('the lease on the cluster was lost while its backup was made');
  } catch (error) {
    await meter.end();
    // A row that cannot be given up now is given up before the next one is made.
    await app.db.write((tx) => store.giveUpBackup(tx, made.id)).catch(() => {});
    throw error;
  }
}

/** Tells the operator by the log, metrics and the doctor, and the owners by mail and `usage.limitations`. */
export async function noteFailedBackup(app: App, { row }: Pick<RunningCluster, 'row'>, error: unknown): Promise<void> {
  const failure = sentenceOfFailure(error);
  app.log.warn({ err: error, cluster: row.id }, 'a backup of a cluster failed');
  await app.db.write(async (tx) => {
    hint(tx, row.org_id, 'clusters.cluster');
    if (await store.noteBackupFailure(tx, row.org_id, row.id, failure))
      await tellOwners(tx, app, { org: row.org_id, cluster: row.id, name: row.name, failure });
  });
}

/** Copies that no process makes any more, under leases of this server, which makes none now: a former process of it was killed, or could not say so. */
export async function giveUpLeft(app: App, leases: readonly string[]): Promise<void> {
  const left = await app.db.read((tx) => store.backupsInMaking(tx, leases));
  for (const id of left) await app.db.write((tx) => store.giveUpBackup(tx, id));
}
