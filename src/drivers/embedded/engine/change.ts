import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../../kernel/db/index.ts';
import { makePauses } from '../../../kernel/yielding.ts';
import { alreadyExists, badRequest, conflictError, forbiddenError, invalidError, modifiedMessage, notFoundError } from '../../status.ts';
import { newServiceAccount } from '../rules/built-in.ts';
import { kindOf } from '../rules/kinds/index.ts';
import { appendRandomSuffix, validateFinalizers, validateMeta } from '../rules/names.ts';
import type { KubeObject } from '../rules/object.ts';
import { textsOf } from '../rules/object.ts';
import type { Resource } from '../rules/resources.ts';
import { listOldest, measureKind, type ObjectKey } from '../store/objects.ts';
import { updateAggregatedRoles } from './aggregated-roles.ts';
import type { Caller } from './call.ts';
import { type Cluster, limits } from './cluster.ts';
import { allocateAddresses } from './service-addresses.ts';
import { type StoredObject, type WriteTransaction, writeObjects } from './write-transaction.ts';

// Creates, updates and deletes objects, for HTTP callers and for Quarterdeck itself.

export interface Target {
  resource: Resource;
  namespace: string;
  name: string;
}

export const keyOf = ({ resource, namespace, name }: Target): ObjectKey => ({
  resource: resource.storedAs,
  namespace: resource.isNamespaced ? namespace : '',
  name,
});

/** Admission: throws to reject the write. Runs inside the transaction, with the object as it will be stored. */
export type Admit = (tx: Tx, object: KubeObject, before: KubeObject | undefined) => void | Promise<void>;

export interface WriteOptions {
  isDryRun: boolean;
  caller?: Caller;
  admit?: Admit;
}

export async function createObject(
  cluster: Cluster,
  target: Target,
  object: KubeObject,
  { isDryRun, caller, admit }: WriteOptions,
): Promise<KubeObject> {
  const { metadata } = object;
  if (metadata.resourceVersion) throw badRequest('resourceVersion should not be set on objects to be created');
  if (target.resource.isNamespaced) {
    if (metadata.namespace && metadata.namespace !== target.namespace)
      throw badRequest(`the namespace of the provided object does not match the namespace sent on the request`);
    metadata.namespace = target.namespace;
  } else delete metadata.namespace;
  for (const field of ['uid', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'generation'] as const) delete metadata[field];
  const isNamed = Boolean(metadata.name);
  return writeObjects(
    cluster,
    async (transaction) => {
      await generateName(transaction, target, object, isNamed);
      const kind = kindOf(object.kind);
      if (target.resource.subresources.some(({ name }) => name === 'status') && object.kind !== 'Node') delete object.status;
      kind.prepare?.(object, undefined);
      refuseInvalid(target.resource, object, [...validateMeta(object), ...(kind.validate?.(object, undefined) ?? [])]);
      await admit?.(transaction.tx, object, undefined);
      metadata.creationTimestamp = transaction.now;
      const key = keyOf({ ...target, name: metadata.name });
      if (target.resource.isNamespaced) await requireNamespace(transaction, target, metadata.name);
      if (await transaction.find(key)) throw alreadyExists(target.resource, metadata.name);
      if (target.resource.group === 'rbac.authorization.k8s.io') await requireRbacQuota(transaction, target.resource, object);
      if (object.kind === 'Service') await allocateAddresses(transaction.tx, cluster, object, undefined);
      if (object.kind === 'Event') await evictOldestEvents(transaction, target.resource);
      const made = await transaction.put(key, object, undefined);
      if (object.kind === 'Namespace') await addDefaultAccount(transaction, metadata.name);
      if (object.kind === 'ClusterRole') await updateAggregatedRoles(transaction);
      return made;
    },
    { isDryRun, ...(caller ? { caller } : {}) },
  );
}

/** Every request evaluates all roles and bindings in memory, so their number and bytes are limited. */
async function requireRbacQuota({ tx, cluster }: WriteTransaction, resource: Resource, object: KubeObject): Promise<void> {
  const { n, bytes } = await measureKind(tx, cluster.id, resource.storedAs);
  if (n > limits.rbacObjects || bytes + Buffer.byteLength(JSON.stringify(object)) > limits.rbacBytes)
    throw forbiddenError(
      resource,
      object.metadata.name,
      `a cluster has at most ${limits.rbacObjects} ${resource.plural} with ${limits.rbacBytes} bytes; delete some first`,
    );
}

const eventEvictionBatch = 50;

/** Events are diagnostics. Past the limit the oldest are deleted, so that a client that writes events cannot fill the store. */
async function evictOldestEvents(transaction: WriteTransaction, { storedAs }: Resource): Promise<void> {
  const { tx, cluster } = transaction;
  const { n, bytes } = await measureKind(tx, cluster.id, storedAs);
  if (n < limits.events && bytes < limits.eventBytes) return;
  for (const { namespace, name, body, bytes: size } of await listOldest(tx, cluster, storedAs, eventEvictionBatch))
    await transaction.remove({ resource: storedAs, namespace, name }, { object: JSON.parse(body) as KubeObject, bytes: size });
}

const maxNameAttempts = 5;

async function generateName(transaction: WriteTransaction, target: Target, { metadata }: KubeObject, isNamed: boolean): Promise<void> {
  if (isNamed || !metadata.generateName) return;
  for (let n = 0; n < maxNameAttempts; n++) {
    metadata.name = appendRandomSuffix(metadata.generateName, randomBytes(5));
    if (!(await transaction.find(keyOf({ ...target, name: metadata.name })))) return;
  }
}

const refuseInvalid = (resource: Resource, object: KubeObject, causes: Parameters<typeof invalidError>[3]) => {
  if (causes.length > 0) throw invalidError(object.kind, resource, object.metadata.name, causes);
};

async function requireNamespace(transaction: WriteTransaction, { resource, namespace }: Target, name: string): Promise<void> {
  const known = await transaction.find({ resource: 'namespaces', namespace: '', name: namespace });
  if (!known) throw notFoundError({ group: '', plural: 'namespaces' }, namespace);
  if (known.object.metadata.deletionTimestamp)
    throw forbiddenError(resource, name, `unable to create new content in namespace ${namespace} because it is being terminated`);
}

/** Every namespace has a default service account, so that clients can request tokens for it. */
export async function addDefaultAccount(transaction: WriteTransaction, namespace: string): Promise<void> {
  const account = newServiceAccount(namespace, 'default');
  account.metadata.creationTimestamp = transaction.now;
  const key = { resource: 'serviceaccounts', namespace, name: 'default' };
  if (!(await transaction.find(key))) await transaction.put(key, account, undefined);
}

/**
 * Returns the new object inside the transaction; the stored object must not be changed. `pauseIfLarge` yields the event loop for large
 * objects.
 */
export type Mutation = (before: KubeObject, tx: Tx, pauseIfLarge: () => Promise<void>) => KubeObject | Promise<KubeObject>;

/** Updates of objects above this size yield the event loop between their steps. */
const pausingBytes = 65_536;

export interface UpdateOptions extends WriteOptions {
  subresource?: string;
}

export async function updateObject(cluster: Cluster, target: Target, mutate: Mutation, options: UpdateOptions): Promise<KubeObject> {
  const key = keyOf(target);
  const updated = await writeObjects(
    cluster,
    async (transaction) => {
      const before = await transaction.find(key);
      if (!before) throw notFoundError(target.resource, target.name);
      if (transaction.tx.checksRows) freeze(before.object); // in tests, a mutation of the stored object throws
      const pause = makePauses();
      const pauseIfLarge = async () => {
        if (before.bytes > pausingBytes) await pause();
      };
      await pauseIfLarge();
      const requested = await mutate(before.object, transaction.tx, pauseIfLarge);
      await pauseIfLarge();
      const object = mergeUpdate(target, before.object, requested, options.subresource);
      if (!options.subresource) kindOf(object.kind).prepare?.(object, before.object);
      refuseInvalid(target.resource, object, [
        ...validateMeta(object),
        ...(options.subresource ? validateFinalizers(object) : (kindOf(object.kind).validate?.(object, before.object) ?? [])),
      ]);
      await pauseIfLarge();
      await options.admit?.(transaction.tx, object, before.object);
      if (target.resource.group === 'rbac.authorization.k8s.io') await requireRbacQuota(transaction, target.resource, object);
      if (object.kind === 'Service' && !options.subresource) await allocateAddresses(transaction.tx, cluster, object, before.object);
      return storeUpdate(transaction, key, object, before, pauseIfLarge);
    },
    { isDryRun: options.isDryRun, prefetch: key, ...(options.caller ? { caller: options.caller } : {}) },
  );
  if (updated.metadata.deletionTimestamp) cluster.scheduleSweep(); // the finalizer may have been the last that kept its namespace
  return updated;
}

/** Applies an update: compares versions, keeps fields that only the server sets, and limits a subresource to its own part. */
function mergeUpdate(
  { resource, name, namespace }: Target,
  before: KubeObject,
  requested: KubeObject,
  subresource: string | undefined,
): KubeObject {
  const { metadata } = requested;
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  if (resource.isNamespaced && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  if (metadata.resourceVersion && metadata.resourceVersion !== '0' && metadata.resourceVersion !== before.metadata.resourceVersion)
    throw conflictError(resource, name, modifiedMessage);
  if (metadata.uid && metadata.uid !== before.metadata.uid)
    throw conflictError(
      resource,
      name,
      `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${before.metadata.uid}`,
    );
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generateName, resourceVersion } = before.metadata;
  const serverFields = { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generateName, resourceVersion };
  const meta = { ...metadata, ...(resource.isNamespaced ? { namespace } : {}) };
  for (const [field, value] of Object.entries(serverFields)) {
    if (value === undefined) delete (meta as Record<string, unknown>)[field];
    else (meta as Record<string, unknown>)[field] = value;
  }
  if (subresource === 'status' || subresource === 'approval') return withStatus(before, requested, meta);
  if (subresource === 'finalize')
    return { ...before, metadata: { ...before.metadata }, spec: { ...before.spec, finalizers: textsOf(requested.spec?.['finalizers']) } };
  const hasStatus = resource.subresources.some(({ name: one }) => one === 'status');
  if (!hasStatus) return { ...requested, metadata: meta };
  const { status: _status, ...pauseIfLarge } = requested;
  return { ...pauseIfLarge, metadata: meta, ...(before.status ? { status: before.status } : {}) } as KubeObject;
}

function withStatus(before: KubeObject, requested: KubeObject, metadata: KubeObject['metadata']): KubeObject {
  const { status: _status, ...pauseIfLarge } = before;
  return { ...pauseIfLarge, metadata: { ...metadata }, ...(requested.status ? { status: requested.status } : {}) } as KubeObject;
}

async function storeUpdate(
  transaction: WriteTransaction,
  key: ObjectKey,
  object: KubeObject,
  before: StoredObject,
  pauseIfLarge: () => Promise<void>,
): Promise<KubeObject> {
  const isFinalized = object.metadata.deletionTimestamp && !object.metadata.finalizers?.length;
  if (isFinalized && !(object.kind === 'Namespace')) return transaction.remove(key, { object, bytes: before.bytes });
  if (isUnchanged(object, before.object)) return before.object;
  await pauseIfLarge();
  const made = await transaction.put(key, object, before);
  if (object.kind === 'ClusterRole') await updateAggregatedRoles(transaction);
  return made;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const item of Object.values(value)) freeze(item);
}

/** Ignores the order of fields. */
const isUnchanged = (a: KubeObject, b: KubeObject) => isDeepStrictEqual(a, b);

export interface DeleteOptions extends WriteOptions {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  orphans: boolean;
}

/** `isGone` is false while finalizers remain; the object is deleted once they are removed. */
export async function deleteObject(
  cluster: Cluster,
  target: Target,
  options: DeleteOptions,
): Promise<{ object: KubeObject; isGone: boolean }> {
  const result = await writeObjects(
    cluster,
    async (transaction) => {
      const before = await transaction.find(keyOf(target));
      if (!before) throw notFoundError(target.resource, target.name);
      return deleteExisting(transaction, target, before, options);
    },
    { isDryRun: options.isDryRun, prefetch: keyOf(target), ...(options.caller ? { caller: options.caller } : {}) },
  );
  cluster.scheduleSweep();
  return result;
}

export async function deleteExisting(transaction: WriteTransaction, target: Target, before: StoredObject, options: DeleteOptions) {
  const { object } = before;
  const { uid, resourceVersion } = object.metadata;
  for (const [what, expected, actual] of [
    ['UID', options.uid, uid],
    ['ResourceVersion', options.resourceVersion, resourceVersion],
  ] as const)
    if (expected && expected !== actual)
      throw conflictError(
        target.resource,
        target.name,
        `Precondition failed: ${what} in precondition: ${expected}, ${what} in object meta: ${actual}`,
      );
  await options.admit?.(transaction.tx, object, object);
  if (object.kind === 'Namespace' && ['default', 'kube-system', 'kube-public', 'kube-node-lease'].includes(target.name))
    throw forbiddenError(target.resource, target.name, 'this namespace may not be deleted');
  if (object.kind === 'Namespace' || object.metadata.finalizers?.length) {
    if (object.metadata.deletionTimestamp) return { object, isGone: false };
    const terminating: KubeObject = {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: transaction.now, deletionGracePeriodSeconds: 0 },
    };
    if (object.kind === 'Namespace') terminating.status = { ...terminating.status, phase: 'Terminating' };
    return { object: await transaction.put(keyOf(target), terminating, before), isGone: false };
  }
  const deleted = await transaction.remove(keyOf(target), before, options.orphans);
  if (object.kind === 'ClusterRole') await updateAggregatedRoles(transaction);
  return { object: deleted, isGone: true };
}
