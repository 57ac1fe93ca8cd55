import { randomUUID } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';
import { append } from '../../../kernel/steps.ts';
import { ApiError, tooLarge } from '../../status.ts';
import type { KubeObject } from '../rules/object.ts';
import { selectableOf } from '../rules/selectors.ts';
import { addChange, findTrimVersion, trimChanges } from '../store/object-changes.ts';
import {
  addDeletedOwner,
  advanceSpace,
  deleteObject,
  lockSpace,
  type ObjectKey,
  type ObjectRow,
  putObject,
  readObject,
  type SpaceRow,
} from '../store/objects.ts';
import type { Caller } from './call.ts';
import { type Cluster, limits } from './cluster.ts';
import { releaseAddresses } from './service-addresses.ts';
import { quotaOf, storeFullPrefix } from './store-quota.ts';

/** One transaction on a cluster's objects. It holds the cluster's row lock, so there is no other writer. */
export interface WriteTransaction {
  tx: Tx;
  cluster: Cluster;
  now: string;
  find(key: ObjectKey): Promise<StoredObject | undefined>;
  /** Stores an object under the next version. */
  put(key: ObjectKey, object: KubeObject, before: StoredObject | undefined): Promise<KubeObject>;
  /** Dependents are deleted too, unless they are orphaned. */
  remove(key: ObjectKey, before: StoredObject, orphans?: boolean): Promise<KubeObject>;
}

export interface StoredObject {
  object: KubeObject;
  bytes: number;
}

/** The change log is trimmed once in this many versions. */
const versionsPerTrim = 100;

/** Thrown to roll back a dry run. */
class DryRun extends Error {}

export interface TransactionOptions {
  /** Does all work, then rolls back. */
  isDryRun?: boolean;
  /** The key that the work reads first; it is read in the same round trip as the lock, after it. */
  prefetch?: ObjectKey;
  /** The caller, whose permissions are checked again under the lock; absent: Quarterdeck itself. */
  caller?: Caller;
}

export async function writeObjects<T>(
  cluster: Cluster,
  work: (transaction: WriteTransaction) => Promise<T>,
  { isDryRun, prefetch, caller }: TransactionOptions = {},
): Promise<T> {
  // Writes of a cluster queue here, so that waiting writers do not hold the database connections that readers need.
  const previousWrite = cluster.lastWrite;
  const { promise, resolve: finish } = Promise.withResolvers<void>();
  cluster.lastWrite = promise;
  await previousWrite;
  const isInternal = caller === undefined || caller.isInternal === true;
  let result: T | undefined;
  try {
    return await cluster.app.db.write(async (tx) => {
      await caller?.lock(tx);
      const [space, row] = await Promise.all([lockSpace(tx, cluster.id), prefetch && readObject(tx, cluster, prefetch), caller?.check(tx)]);
      if (!space) throw new ApiError(503, 'ServiceUnavailable', 'this cluster is being removed', {});
      const pending: PendingChanges = { version: space.version, objects: 0, bytes: 0, logBytes: 0, touchesRbac: false, statements: [] };
      const prefetched = prefetch && { key: prefetch, row };
      result = await work(makeTransaction({ tx, cluster, space, pending, prefetched, isInternal }));
      if (pending.version > space.version) await finishTransaction(tx, cluster, space, pending);
      if (isDryRun) throw new DryRun();
      return result;
    });
  } catch (error) {
    if (error instanceof DryRun) return result!;
    throw error;
  } finally {
    finish();
  }
}

interface PendingChanges {
  version: number;
  objects: number;
  bytes: number;
  logBytes: number;
  touchesRbac: boolean;
  /** Statements in flight: they are pipelined, and awaited at the end. */
  statements: Promise<unknown>[];
}

async function finishTransaction(tx: Tx, cluster: Cluster, space: SpaceRow, pending: PendingChanges): Promise<void> {
  await Promise.all([...pending.statements, advanceSpace(tx, cluster.id, pending)]);
  if (Math.floor(pending.version / versionsPerTrim) > Math.floor(space.version / versionsPerTrim)) await trimChangeLog(tx, cluster);
  wake(tx, channelNamed(cluster.channel));
  const figures = { objects: space.objects + pending.objects, bytes: space.bytes + pending.bytes };
  tx.afterCommit(() => Object.assign(cluster.figures, figures));
}

async function trimChangeLog(tx: Tx, cluster: Cluster): Promise<void> {
  const upTo = await findTrimVersion(tx, cluster.id, { changes: limits.keptChanges, bytes: limits.keptChangeBytes });
  if (upTo !== null) await trimChanges(tx, cluster.id, upTo);
}

/** A row read together with the lock; valid until the first write of the transaction. */
interface Prefetched {
  key: ObjectKey;
  row: ObjectRow | undefined;
}

const isSameKey = (a: ObjectKey, b: ObjectKey) => a.resource === b.resource && a.namespace === b.namespace && a.name === b.name;

/** What the steps of one transaction share. */
interface TransactionState {
  tx: Tx;
  cluster: Cluster;
  space: SpaceRow;
  pending: PendingChanges;
  prefetched: Prefetched | undefined;
  isInternal: boolean;
}

const makeTransaction = (state: TransactionState): WriteTransaction => ({
  tx: state.tx,
  cluster: state.cluster,
  now: `${state.space.now.slice(0, 19)}Z`,
  find: (key) => findStored(state, key),
  put: async (key, object, before) => putNext(state, key, object, before),
  remove: async (key, before, orphans = false) => removeStored(state, key, before, orphans),
});

async function findStored(
  { tx, cluster, space, pending, prefetched }: TransactionState,
  key: ObjectKey,
): Promise<StoredObject | undefined> {
  const isPrefetched = prefetched && pending.version === space.version && isSameKey(prefetched.key, key);
  const row = isPrefetched ? prefetched.row : await readObject(tx, cluster, key);
  return row && { object: JSON.parse(row.body) as KubeObject, bytes: row.bytes };
}

/** The next version, under which a change of this object is stored. */
function takeVersion({ pending }: TransactionState, { resource }: ObjectKey): number {
  pending.touchesRbac ||= resource.endsWith('.rbac.authorization.k8s.io');
  return ++pending.version;
}

function send({ pending }: TransactionState, ...statements: Promise<unknown>[]): void {
  for (const statement of statements) statement.catch(() => {}); // a failure is reported when all are awaited
  append(pending.statements, statements);
}

function putNext(state: TransactionState, key: ObjectKey, object: KubeObject, before: StoredObject | undefined): KubeObject {
  const { tx, cluster, pending } = state;
  const version = takeVersion(state, key);
  object.metadata.uid ??= randomUUID();
  object.metadata.resourceVersion = String(version);
  limitValues(object, before);
  const body = JSON.stringify(object);
  const bytes = Buffer.byteLength(body);
  requireQuota(state, { key, object, bytes, before });
  pending.objects += before ? 0 : 1;
  pending.bytes += bytes - (before?.bytes ?? 0);
  pending.logBytes += bytes;
  const { uid, deletionTimestamp, ownerReferences = [] } = object.metadata;
  const owners = ownerReferences.map((owner) => owner.uid);
  const type = before ? 'MODIFIED' : 'ADDED';
  const was = before ? selectableBeforeChange(before.object, object) : null;
  send(
    state,
    putObject(tx, cluster, { ...key, version, uid, bytes, deleting: deletionTimestamp !== undefined, owners, body }),
    addChange(tx, cluster, { ...key, version, type, was, bytes, body }),
  );
  return object;
}

function removeStored(
  state: TransactionState,
  key: ObjectKey,
  { object: last, bytes: stored }: StoredObject,
  orphans: boolean,
): KubeObject {
  const { tx, cluster, pending } = state;
  const version = takeVersion(state, key);
  const object = { ...last, metadata: { ...last.metadata, resourceVersion: String(version) } };
  const body = JSON.stringify(object);
  const bytes = Buffer.byteLength(body);
  pending.objects--;
  pending.bytes -= stored;
  pending.logBytes += bytes;
  send(
    state,
    deleteObject(tx, cluster.id, key),
    addChange(tx, cluster, { ...key, version, type: 'DELETED', was: null, bytes, body }),
    ...(orphans ? [] : [addDeletedOwner(tx, cluster.org, cluster.id, last.metadata.uid!)]),
    releaseAddresses(tx, cluster, last),
  );
  return object;
}

/** The selectable fields before the change, if they differ from those after it. A watch needs them to send ADDED or DELETED. */
function selectableBeforeChange(before: KubeObject, after: KubeObject): string | null {
  const was = JSON.stringify(selectableOf(before));
  return was === JSON.stringify(selectableOf(after)) ? null : was;
}

/** Counts fields and values, up to one more than the limit. */
function countValues(value: unknown, max: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let values = 1;
  for (const item of Object.values(value)) {
    values += countValues(item, max - values);
    if (values > max) break;
  }
  return values;
}

/** An object that exceeded the limit before the limit existed may be updated as long as it does not grow. */
function limitValues(object: KubeObject, before: StoredObject | undefined): void {
  if (countValues(object, limits.objectValues) <= limits.objectValues) return;
  if (before && countValues(object, limits.bodyValues) <= countValues(before.object, limits.bodyValues)) return;
  throw tooLarge(`the object has more than ${limits.objectValues} fields and values; share them out among several objects`);
}

/** Kinds that keep a full cluster administrable: nodes, leases, roles and bindings. */
const usesReserve = ({ resource }: ObjectKey) =>
  resource === 'nodes' || resource === 'leases.coordination.k8s.io' || resource.endsWith('.rbac.authorization.k8s.io');

interface PutRequest {
  key: ObjectKey;
  object: KubeObject;
  bytes: number;
  before: StoredObject | undefined;
}

/**
 * Half of the reserve is for roles, leases and nodes, the rest for Quarterdeck itself. Marking an object for deletion is always allowed.
 */
function requireQuota({ cluster, space, pending, isInternal }: TransactionState, { key, object, bytes, before }: PutRequest): void {
  if (bytes > limits.objectBytes) throw tooLarge(`the object has ${bytes} bytes; at most ${limits.objectBytes} are kept`);
  if (before && object.metadata.deletionTimestamp) return;
  const reserveShare = isInternal ? 0 : usesReserve(key) ? 0.5 : 1;
  const quota = quotaOf(cluster);
  const objects = quota.objects - Math.ceil(reserveShare * quota.reserve.objects);
  if (!before && space.objects + pending.objects >= objects)
    throw full(`this cluster holds ${objects} objects, as many as it may; delete some first`);
  const growth = bytes - (before?.bytes ?? 0);
  const maxBytes = quota.bytes - Math.ceil(reserveShare * quota.reserve.bytes);
  if (growth > 0 && space.bytes + pending.bytes + growth > maxBytes)
    throw full(`this cluster’s objects have ${maxBytes} bytes, as many as they may; delete some first, or choose a larger tier`);
}

const full = (why: string) => new ApiError(403, 'Forbidden', `${storeFullPrefix}: ${why}`, {});
