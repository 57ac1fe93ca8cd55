import { runFor } from '../../../kernel/fairness/index.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { ApiError } from '../../status.ts';
import { expiringResources, isExpired } from '../rules/expiry.ts';
import type { KubeObject } from '../rules/object.ts';
import { textsOf } from '../rules/object.ts';
import { resourceStoredAs } from '../rules/resources.ts';
import {
  countInNamespace,
  hasUid,
  listDeletedOwners,
  listDeleting,
  listInNamespace,
  listObjects,
  listOwned,
  type ObjectRow,
  removeDeletedOwner,
} from '../store/objects.ts';
import { deleteExisting } from './change.ts';
import { type Cluster, limits } from './cluster.ts';
import { requireSpace } from './read.ts';
import { type WriteTransaction, writeObjects } from './write-transaction.ts';

// Deletes dependents: objects in terminating namespaces, objects whose owners are deleted, and expired objects. Works in batches, one
// transaction each; after a crash the next sweep continues, on any server.

const batchRows = 200;
const sweepIntervalMs = 30_000;
/** Expired objects are removed every five minutes at most, and when the cluster is opened. */
const sweepsPerExpiryRun = 10;

const namespacesPerBatch = 10;
/** After this many batches of namespaces, the next sweep continues behind them. */
const maxNamespaceBatches = 20;

/** The position in the list of terminating namespaces. */
interface SweepCursor {
  after: string;
  batches: number;
}

export interface Sweeper {
  schedule(): void;
  stop(): Promise<void>;
}

export function makeSweeper(cluster: Cluster): Sweeper {
  let isScheduled = false;
  let runs = 0;
  const cursor: SweepCursor = { after: '', batches: 0 };
  let running: Promise<void> | undefined;
  const run = async () => {
    await yieldToLoop(); // never in the turn of the caller
    while (isScheduled && !cluster.isStopped) {
      isScheduled = false;
      try {
        cursor.batches = 0;
        while (!cluster.isStopped && (await sweepBatch(cluster, cursor))) await yieldToLoop();
        if (runs % sweepsPerExpiryRun === 0) await removeExpired(cluster);
        runs++;
      } catch (error) {
        cluster.app.log.debug({ err: error, cluster: cluster.id }, 'a sweep of deleted and expired objects failed; it is retried');
      }
    }
    running = undefined;
  };
  const schedule = () => {
    isScheduled = true;
    running ??= runFor({ org: cluster.org, operation: 'kubernetes sweep' }, run);
  };
  const timer = setInterval(schedule, sweepIntervalMs).unref();
  return {
    schedule,
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

/** Every object of an expiring kind is checked: an old object may have been updated a moment ago. */
async function removeExpired(cluster: Cluster): Promise<void> {
  for (const resource of expiringResources) {
    let after: { namespace: string; name: string } | undefined;
    for (;;) {
      const { rows, now } = await cluster.app.db.read(async (tx) => ({
        now: (await requireSpace(tx, cluster)).now,
        rows: await listObjects(tx, cluster, {
          resource,
          namespace: undefined,
          name: undefined,
          after,
          rows: batchRows,
          bytes: limits.pageBytes,
        }),
      }));
      const expired = rows.filter((row) => isExpired(JSON.parse(row.body) as KubeObject, now));
      if (expired.length > 0)
        await writeObjects(cluster, async (transaction) => {
          for (const { namespace, name } of expired) {
            const current = await transaction.find({ resource, namespace, name });
            if (current && !current.object.metadata.deletionTimestamp && isExpired(current.object, now))
              await transaction.remove({ resource, namespace, name }, current);
          }
        });
      const last = rows.at(-1);
      if (!last || cluster.isStopped) break;
      after = { namespace: last.namespace, name: last.name };
      await yieldToLoop();
    }
  }
}

/** One batch. True: there may be more. */
async function sweepBatch(cluster: Cluster, cursor: SweepCursor): Promise<boolean> {
  const { namespaces, owners } = await cluster.app.db.read(async (tx) => ({
    namespaces: await listDeleting(tx, cluster, 'namespaces', cursor.after, namespacesPerBatch),
    owners: await listDeletedOwners(tx, cluster.id, 10),
  }));
  // The cursor moves on, so that namespaces that wait for finalizers do not block the next ones.
  const isLastBatch = namespaces.length < namespacesPerBatch;
  cursor.after = isLastBatch ? '' : namespaces.at(-1)!.name;
  let hasProgress = !isLastBatch && ++cursor.batches < maxNamespaceBatches;
  for (const { name } of namespaces)
    hasProgress = (await writeObjects(cluster, (transaction) => emptyNamespace(transaction, name))) || hasProgress;
  for (const { uid } of owners) hasProgress = (await writeObjects(cluster, (transaction) => removeOwned(transaction, uid))) || hasProgress;
  return hasProgress;
}

async function removeRow(transaction: WriteTransaction, row: ObjectRow): Promise<void> {
  const resource = resourceStoredAs(row.resource);
  if (!resource) return;
  const object = JSON.parse(row.body) as KubeObject;
  const target = { resource, namespace: row.namespace, name: row.name };
  try {
    await deleteExisting(transaction, target, { object, bytes: row.bytes }, { isDryRun: false, orphans: false });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error; // for example, a built-in namespace cannot be deleted, even if its owner is gone
  }
}

async function emptyNamespace(transaction: WriteTransaction, name: string): Promise<boolean> {
  const { tx, cluster } = transaction;
  const key = { resource: 'namespaces', namespace: '', name };
  const before = await transaction.find(key);
  if (!before?.object.metadata.deletionTimestamp) return false;
  const inside = await listInNamespace(tx, cluster, name, batchRows);
  for (const row of inside) await removeRow(transaction, row);
  if (inside.length > 0) return true;
  // The remaining objects wait for their finalizers; the namespace's condition lists them.
  const remaining = await countInNamespace(tx, cluster.id, name, '');
  const namespaceFinalizers = textsOf(before.object.spec?.['finalizers']).filter((finalizer) => finalizer !== 'kubernetes');
  if (remaining.length === 0 && namespaceFinalizers.length === 0 && !before.object.metadata.finalizers?.length) {
    await transaction.remove(key, before);
    return true;
  }
  const message = remaining.map(({ resource, n }) => `${resource} has ${n} resource instances`).join(', ');
  const conditions = [
    {
      type: 'NamespaceFinalizersRemaining',
      status: remaining.length ? 'True' : 'False',
      lastTransitionTime: transaction.now,
      reason: 'SomeFinalizersRemain',
      message,
    },
  ];
  const known = (before.object.status?.['conditions'] as { message?: string }[] | undefined)?.[0]?.message;
  if (known !== message)
    await transaction.put(
      key,
      { ...before.object, metadata: { ...before.object.metadata }, status: { phase: 'Terminating', conditions } },
      before,
    );
  return false;
}

async function removeOwned(transaction: WriteTransaction, uid: string): Promise<boolean> {
  const { tx, cluster } = transaction;
  const owned = await listOwned(tx, cluster, uid, batchRows);
  for (const row of owned) {
    const object = JSON.parse(row.body) as KubeObject;
    const others = (object.metadata.ownerReferences ?? []).filter((owner) => owner.uid !== uid);
    const isStillOwned =
      others.length > 0 &&
      (await hasUid(
        tx,
        cluster.id,
        others.map((owner) => owner.uid),
      ));
    if (!isStillOwned) await removeRow(transaction, row);
    else
      await transaction.put(
        { resource: row.resource, namespace: row.namespace, name: row.name },
        { ...object, metadata: { ...object.metadata, ownerReferences: others } },
        { object, bytes: row.bytes },
      );
  }
  if (owned.length < batchRows) await removeDeletedOwner(tx, cluster.id, uid);
  return owned.length === batchRows;
}
