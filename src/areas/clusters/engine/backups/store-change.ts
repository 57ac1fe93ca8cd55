import { Readable } from 'node:stream';
import { ClusterError } from '../../../../drivers/cluster-error.ts';
import type { StoreContent, StoreOrigin } from '../../../../drivers/driver.ts';
import { keysOfRows, openKineKeys } from '../../../../drivers/process/index.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { firstRevisionOf } from '../../rules/backups.ts';
import * as backups from '../../store/backups.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import type { HeldLease } from '../../store/shards.ts';
import * as store from '../../store/store-changes.ts';
import { findPki } from '../pki.ts';
import { BackupUnreadable, maxCopyBytes, readBackup } from './content.ts';
import { sentenceOfFailure } from './failure.ts';
import { makeMeter } from './meter.ts';

/** What a generation of the cluster's store is made of: of the backup that a restore names, or of kine's objects in a move. */
export const originOf =
  (app: App, held: HeldLease, cluster: () => ClusterRow) =>
  async (generation: number): Promise<StoreOrigin | undefined> => {
    const change = await app.db.write((tx) => store.markLoading(tx, held, generation));
    if (change?.kind === 'move') return { freezes: true, read: () => readKine(app, cluster(), change) };
    // Without a change its data is lost: the operator chooses a backup.
    const backup = change && (await app.db.read((tx) => backups.findBackup(tx, change.backup_id!)));
    return backup && { freezes: false, read: async () => contentOf(app, cluster(), backup, generation) };
  };

function contentOf(app: App, row: ClusterRow, backup: backups.BackupRow, generation: number): StoreContent {
  const meter = makeMeter((bytes) => app.db.write((tx) => store.countChangeBytes(tx, row.id, generation, bytes)));
  const content = readBackup(app, backup, { maxBytes: maxCopyBytes(backup.store, row), onBytes: meter.add });
  const revision = Math.max(firstRevisionOf(generation), backup.revision + 1);
  const bytes = backup.content_bytes ?? undefined;
  if (row.store === 'kine' && backup.store === 'kine') return { kind: 'rows', content, bytes, revision };
  if (row.store === 'etcd' && backup.store === 'kine') return { kind: 'keys', keys: keysOfRows(content), revision };
  if (row.store === 'etcd') return { kind: 'snapshot', content: Readable.from(content, { objectMode: false }), bytes, revision };
  throw new BackupUnreadable(`the backup ${backup.id} is of an etcd, and the cluster is on kine; choose another one`);
}

async function readKine(app: App, { id }: ClusterRow, { from_generation, generation }: store.StoreChangeRow): Promise<StoreContent> {
  const pki = await app.db.read((tx) => findPki(tx, app, id));
  if (!pki?.inner) throw new Error('the cluster has no keys for programs');
  const { keys, revision } = await openKineKeys(app, { cluster: id, generation: from_generation, storeKey: pki.inner.storeKey });
  return { kind: 'keys', keys, revision: Math.max(firstRevisionOf(generation), revision + 1) };
}

/** The last moment with a way back. */
export const switchTo = (app: App, held: HeldLease) => async (generation: number) => {
  const isOurs = await app.db.write((tx) => store.markSwitched(tx, held, generation));
  if (!isOurs) throw new ClusterError('the change of its store was given up; the store before serves on');
};

/** In the transaction that settles the cluster as ready. */
export async function settleChange(tx: Tx, held: HeldLease): Promise<void> {
  if (await store.changeUnderWay(tx, held.id)) await store.endChange(tx, held);
}

/** By a server that has just claimed the cluster: what another one had begun is undone, and the store before serves. */
export const rollBackInterrupted = (app: App, held: HeldLease): Promise<boolean> =>
  rollBack(app, held, 'the server that did it stopped meanwhile; the cluster goes on with its objects from before: begin it again', [
    'loading',
  ]);

/** The new store could not be made, or does not answer: the store before serves on. False: there is no way back, or no such change. */
export async function rollBackAfter(app: App, held: HeldLease, error: unknown): Promise<boolean> {
  const isUndone = await rollBack(app, held, `${sentenceOfFailure(error)}; the cluster goes on with its objects from before`, [
    'wanted',
    'loading',
  ]);
  if (isUndone) app.log.warn({ err: error, cluster: held.id }, 'a restore or move of a cluster failed; its store before serves on');
  return isUndone;
}

async function rollBack(app: App, held: HeldLease, failure: string, states: readonly string[]): Promise<boolean> {
  return (await app.db.write((tx) => store.rollBack(tx, held, failure, states))) !== undefined;
}
