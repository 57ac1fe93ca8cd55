import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Tx } from '../../../../kernel/db/index.ts';
import { makePauses } from '../../../../kernel/yielding.ts';
import { newServiceAccount } from '../../rules/kubernetes/built-in.ts';
import { kindOf } from '../../rules/kubernetes/kinds/index.ts';
import { completeName, validateFinalizers, validateMeta } from '../../rules/kubernetes/names.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { textsOf } from '../../rules/kubernetes/object.ts';
import type { Resource } from '../../rules/kubernetes/resources.ts';
import {
  alreadyExists,
  badRequest,
  conflictError,
  forbiddenError,
  invalidError,
  modified,
  notFoundError,
} from '../../rules/kubernetes/status.ts';
import { listOldest, measureKind, type Place } from '../../store/objects.ts';
import { allotAddresses } from './addresses.ts';
import { addUpRoles } from './aggregate.ts';
import type { Caller } from './caller.ts';
import { type Cluster, limits } from './cluster.ts';
import { type Existing, type Writing, writeObjects } from './write.ts';

// Every change to an object, whoever asks for it: made, changed, removed.

export interface Target {
  resource: Resource;
  namespace: string;
  name: string;
}

export const placeOf = ({ resource, namespace, name }: Target): Place => ({
  resource: resource.storedAs,
  namespace: resource.isNamespaced ? namespace : '',
  name,
});

/** What somebody else must have said yes to, inside the transaction and with the object as it will be. */
export type Admit = (tx: Tx, object: KubeObject, before: KubeObject | undefined) => void | Promise<void>;

export interface Manner {
  isDryRun: boolean;
  caller?: Caller;
  admit?: Admit;
}

export async function createObject(
  cluster: Cluster,
  target: Target,
  object: KubeObject,
  { isDryRun, caller, admit }: Manner,
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
    async (writing) => {
      await nameObject(writing, target, object, isNamed);
      const kind = kindOf(object.kind);
      if (target.resource.subresources.some(({ name }) => name === 'status') && object.kind !== 'Node') delete object.status;
      kind.prepare?.(object, undefined);
      refuseInvalid(target.resource, object, [...validateMeta(object), ...(kind.validate?.(object, undefined) ?? [])]);
      await admit?.(writing.tx, object, undefined);
      metadata.creationTimestamp = writing.now;
      const place = placeOf({ ...target, name: metadata.name });
      if (target.resource.isNamespaced) await requireNamespace(writing, target, metadata.name);
      if (await writing.find(place)) throw alreadyExists(target.resource, metadata.name);
      if (target.resource.group === 'rbac.authorization.k8s.io') await requireRbacRoom(writing, target.resource, object);
      if (object.kind === 'Service') await allotAddresses(writing.tx, cluster, object, undefined);
      if (object.kind === 'Event') await makeRoomForEvent(writing, target.resource);
      const made = await writing.put(place, object, undefined);
      if (object.kind === 'Namespace') await addDefaultAccount(writing, metadata.name);
      if (object.kind === 'ClusterRole') await addUpRoles(writing);
      return made;
    },
    { isDryRun, ...(caller ? { caller } : {}) },
  );
}

/** All roles and bindings are weighed in memory for each request: so there is a bound to them. */
async function requireRbacRoom({ tx, cluster }: Writing, resource: Resource, object: KubeObject): Promise<void> {
  const { n, bytes } = await measureKind(tx, cluster.id, resource.storedAs);
  if (n > limits.rbacObjects || bytes + Buffer.byteLength(JSON.stringify(object)) > limits.rbacBytes)
    throw forbiddenError(
      resource,
      object.metadata.name,
      `a cluster has at most ${limits.rbacObjects} ${resource.plural} with ${limits.rbacBytes} bytes; delete some first`,
    );
}

const eventsAtOnce = 50;

/** Events are for whoever looks now: past the bound the oldest go, so that no author of events fills the store. */
async function makeRoomForEvent(writing: Writing, { storedAs }: Resource): Promise<void> {
  const { tx, cluster } = writing;
  const { n, bytes } = await measureKind(tx, cluster.id, storedAs);
  if (n < limits.events && bytes < limits.eventBytes) return;
  for (const { namespace, name, body, bytes: size } of await listOldest(tx, cluster, storedAs, eventsAtOnce))
    await writing.remove({ resource: storedAs, namespace, name }, { object: JSON.parse(body) as KubeObject, bytes: size });
}

const nameTries = 5;

async function nameObject(writing: Writing, target: Target, { metadata }: KubeObject, isNamed: boolean): Promise<void> {
  if (isNamed || !metadata.generateName) return;
  for (let n = 0; n < nameTries; n++) {
    metadata.name = completeName(metadata.generateName, randomBytes(5));
    if (!(await writing.find(placeOf({ ...target, name: metadata.name })))) return;
  }
}

const refuseInvalid = (resource: Resource, object: KubeObject, causes: Parameters<typeof invalidError>[3]) => {
  if (causes.length > 0) throw invalidError(object.kind, resource, object.metadata.name, causes);
};

async function requireNamespace(writing: Writing, { resource, namespace }: Target, name: string): Promise<void> {
  const known = await writing.find({ resource: 'namespaces', namespace: '', name: namespace });
  if (!known) throw notFoundError({ group: '', plural: 'namespaces' }, namespace);
  if (known.object.metadata.deletionTimestamp)
    throw forbiddenError(resource, name, `unable to create new content in namespace ${namespace} because it is being terminated`);
}

/** Every namespace has it, so that tokens can be asked for. */
export async function addDefaultAccount(writing: Writing, namespace: string): Promise<void> {
  const account = newServiceAccount(namespace, 'default');
  account.metadata.creationTimestamp = writing.now;
  const place = { resource: 'serviceaccounts', namespace, name: 'default' };
  if (!(await writing.find(place))) await writing.put(place, account, undefined);
}

/** Makes the new object inside the transaction, and leaves the stored one as it is. `rest` gives others a turn if the object is large. */
export type Make = (before: KubeObject, tx: Tx, rest: () => Promise<void>) => KubeObject | Promise<KubeObject>;

/** Of objects from this size on others have their turn between two steps of a change. */
const largeBytes = 65_536;

export interface UpdateManner extends Manner {
  subresource?: string;
}

export async function updateObject(cluster: Cluster, target: Target, make: Make, manner: UpdateManner): Promise<KubeObject> {
  const place = placeOf(target);
  const updated = await writeObjects(
    cluster,
    async (writing) => {
      const before = await writing.find(place);
      if (!before) throw notFoundError(target.resource, target.name);
      if (writing.tx.checksRows) freeze(before.object); // in tests, a change of the stored object throws
      const pause = makePauses();
      const rest = async () => {
        if (before.bytes > largeBytes) await pause();
      };
      await rest();
      const asked = await make(before.object, writing.tx, rest);
      await rest();
      const object = mergeUpdate(target, before.object, asked, manner.subresource);
      if (!manner.subresource) kindOf(object.kind).prepare?.(object, before.object);
      refuseInvalid(target.resource, object, [
        ...validateMeta(object),
        ...(manner.subresource ? validateFinalizers(object) : (kindOf(object.kind).validate?.(object, before.object) ?? [])),
      ]);
      await rest();
      await manner.admit?.(writing.tx, object, before.object);
      if (target.resource.group === 'rbac.authorization.k8s.io') await requireRbacRoom(writing, target.resource, object);
      if (object.kind === 'Service' && !manner.subresource) await allotAddresses(writing.tx, cluster, object, before.object);
      return settleUpdate(writing, place, object, before, rest);
    },
    { isDryRun: manner.isDryRun, first: place, ...(manner.caller ? { caller: manner.caller } : {}) },
  );
  if (updated.metadata.deletionTimestamp) cluster.sweep(); // a finalizer may have been the last thing that kept its namespace
  return updated;
}

/** What of an update counts: versions are compared, what only the server writes stays, and a subresource changes its own part. */
function mergeUpdate(
  { resource, name, namespace }: Target,
  before: KubeObject,
  asked: KubeObject,
  subresource: string | undefined,
): KubeObject {
  const { metadata } = asked;
  if (metadata.name !== name) throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${name})`);
  if (resource.isNamespaced && metadata.namespace && metadata.namespace !== namespace)
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  if (metadata.resourceVersion && metadata.resourceVersion !== '0' && metadata.resourceVersion !== before.metadata.resourceVersion)
    throw conflictError(resource, name, modified);
  if (metadata.uid && metadata.uid !== before.metadata.uid)
    throw conflictError(
      resource,
      name,
      `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${before.metadata.uid}`,
    );
  const { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generateName, resourceVersion } = before.metadata;
  const kept = { uid, creationTimestamp, deletionTimestamp, deletionGracePeriodSeconds, generateName, resourceVersion };
  const meta = { ...metadata, ...(resource.isNamespaced ? { namespace } : {}) };
  for (const [field, value] of Object.entries(kept)) {
    if (value === undefined) delete (meta as Record<string, unknown>)[field];
    else (meta as Record<string, unknown>)[field] = value;
  }
  if (subresource === 'status') return withStatus(before, asked, meta);
  if (subresource === 'approval') return withStatus(before, asked, before.metadata);
  if (subresource === 'finalize')
    return { ...before, metadata: { ...before.metadata }, spec: { ...before.spec, finalizers: textsOf(asked.spec?.['finalizers']) } };
  const hasStatus = resource.subresources.some(({ name: one }) => one === 'status');
  if (!hasStatus) return { ...asked, metadata: meta };
  const { status: _status, ...rest } = asked;
  return { ...rest, metadata: meta, ...(before.status ? { status: before.status } : {}) } as KubeObject;
}

function withStatus(before: KubeObject, asked: KubeObject, metadata: KubeObject['metadata']): KubeObject {
  const { status: _status, ...rest } = before;
  return { ...rest, metadata: { ...metadata }, ...(asked.status ? { status: asked.status } : {}) } as KubeObject;
}

async function settleUpdate(
  writing: Writing,
  place: Place,
  object: KubeObject,
  before: Existing,
  rest: () => Promise<void>,
): Promise<KubeObject> {
  const isGoing = object.metadata.deletionTimestamp && !object.metadata.finalizers?.length;
  if (isGoing && !(object.kind === 'Namespace')) return writing.remove(place, { object, bytes: before.bytes });
  if (isSame(object, before.object)) return before.object;
  await rest();
  const made = await writing.put(place, object, before);
  if (object.kind === 'ClusterRole') await addUpRoles(writing);
  return made;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const item of Object.values(value)) freeze(item);
}

/** Fields may stand in another order. */
const isSame = (a: KubeObject, b: KubeObject) => isDeepStrictEqual(a, b);

export interface DeleteManner extends Manner {
  uid?: string | undefined;
  resourceVersion?: string | undefined;
  orphans: boolean;
}

/** True: it is gone; false: it goes once its finalizers are. */
export async function deleteObject(
  cluster: Cluster,
  target: Target,
  manner: DeleteManner,
): Promise<{ object: KubeObject; isGone: boolean }> {
  const result = await writeObjects(
    cluster,
    async (writing) => {
      const before = await writing.find(placeOf(target));
      if (!before) throw notFoundError(target.resource, target.name);
      return removeExisting(writing, target, before, manner);
    },
    { isDryRun: manner.isDryRun, first: placeOf(target), ...(manner.caller ? { caller: manner.caller } : {}) },
  );
  cluster.sweep();
  return result;
}

export async function removeExisting(writing: Writing, target: Target, before: Existing, manner: DeleteManner) {
  const { object } = before;
  const { uid, resourceVersion } = object.metadata;
  for (const [what, wanted, has] of [
    ['UID', manner.uid, uid],
    ['ResourceVersion', manner.resourceVersion, resourceVersion],
  ] as const)
    if (wanted && wanted !== has)
      throw conflictError(
        target.resource,
        target.name,
        `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${has}`,
      );
  await manner.admit?.(writing.tx, object, object);
  if (object.kind === 'Namespace' && ['default', 'kube-system', 'kube-public', 'kube-node-lease'].includes(target.name))
    throw forbiddenError(target.resource, target.name, 'this namespace may not be deleted');
  if (object.kind === 'Namespace' || object.metadata.finalizers?.length) {
    if (object.metadata.deletionTimestamp) return { object, isGone: false };
    const going: KubeObject = {
      ...object,
      metadata: { ...object.metadata, deletionTimestamp: writing.now, deletionGracePeriodSeconds: 0 },
    };
    if (object.kind === 'Namespace') going.status = { ...going.status, phase: 'Terminating' };
    return { object: await writing.put(placeOf(target), going, before), isGone: false };
  }
  const gone = await writing.remove(placeOf(target), before, manner.orphans);
  if (object.kind === 'ClusterRole') await addUpRoles(writing);
  return { object: gone, isGone: true };
}
