import { randomUUID } from 'node:crypto';
import type { Tx } from '../../../../kernel/db/index.ts';
import { channelNamed, wake } from '../../../../kernel/jobs/index.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { selectableOf } from '../../rules/kubernetes/selectors.ts';
import { ApiError, tooLarge } from '../../rules/kubernetes/status.ts';
import { addChange, findCut, forgetChanges } from '../../store/object-changes.ts';
import {
  deleteObject,
  lockSpace,
  moveSpace,
  noteGoneOwner,
  type ObjectRow,
  type Place,
  putObject,
  readObject,
  type SpaceRow,
} from '../../store/objects.ts';
import { releaseAddresses } from './addresses.ts';
import type { Caller } from './caller.ts';
import { type Cluster, limits } from './cluster.ts';
import { fullWords, roomOf } from './room.ts';

/** One transaction that changes objects of a cluster. Nobody else writes to that cluster meanwhile. */
export interface Writing {
  tx: Tx;
  cluster: Cluster;
  now: string;
  find(place: Place): Promise<Existing | undefined>;
  /** Writes an object anew or over what was there; gives it its version. */
  put(place: Place, object: KubeObject, before: Existing | undefined): Promise<KubeObject>;
  /** What it owned goes too, unless it is orphaned. */
  remove(place: Place, before: Existing, orphans?: boolean): Promise<KubeObject>;
}

export interface Existing {
  object: KubeObject;
  bytes: number;
}

/** Changes are forgotten once in so many versions. */
const trimEvery = 100;

/** Thrown to leave a dry run's transaction without a trace. */
class DryRun extends Error {}

export interface WriteManner {
  /** Everything is done and nothing kept. */
  isDryRun?: boolean;
  /** What the work looks for first: asked for together with the lock, and behind it. */
  first?: Place;
  /** Who writes; absent: the house itself. Their rights are checked again behind the lock. */
  caller?: Caller;
}

export async function writeObjects<T>(
  cluster: Cluster,
  work: (writing: Writing) => Promise<T>,
  { isDryRun, first, caller }: WriteManner = {},
): Promise<T> {
  // One after the other, so that those who wait for each other do not hold the connections that readers need.
  const turn = cluster.writing;
  const { promise, resolve: leave } = Promise.withResolvers<void>();
  cluster.writing = promise;
  await turn;
  const isHouse = caller === undefined || caller.isHouse === true;
  let result: T | undefined;
  try {
    return await cluster.app.db.write(async (tx) => {
      await caller?.lock(tx);
      const [space, known] = await Promise.all([lockSpace(tx, cluster.id), first && readObject(tx, cluster, first), caller?.check(tx)]);
      if (!space) throw new ApiError(503, 'ServiceUnavailable', 'this cluster is being removed', {});
      const made: Made = { version: space.version, objects: 0, bytes: 0, logBytes: 0, touchesRbac: false, sent: [] };
      result = await work(makeWriting(tx, cluster, space, made, first && { place: first, row: known }, isHouse));
      if (made.version > space.version) await settle(tx, cluster, space, made);
      if (isDryRun) throw new DryRun();
      return result;
    });
  } catch (error) {
    if (error instanceof DryRun) return result!;
    throw error;
  } finally {
    leave();
  }
}

interface Made {
  version: number;
  objects: number;
  bytes: number;
  logBytes: number;
  touchesRbac: boolean;
  /** Statements under way: they travel together, and are waited for at the end. */
  sent: Promise<unknown>[];
}

async function settle(tx: Tx, cluster: Cluster, space: SpaceRow, made: Made): Promise<void> {
  await Promise.all([...made.sent, moveSpace(tx, cluster.id, made)]);
  if (Math.floor(made.version / trimEvery) > Math.floor(space.version / trimEvery)) await trim(tx, cluster);
  wake(tx, channelNamed(cluster.channel));
  const figures = { objects: space.objects + made.objects, bytes: space.bytes + made.bytes };
  tx.afterCommit(() => Object.assign(cluster.figures, figures));
}

async function trim(tx: Tx, cluster: Cluster): Promise<void> {
  const cut = await findCut(tx, cluster.id, { changes: limits.changes, bytes: limits.changeBytes });
  if (cut !== null) await forgetChanges(tx, cluster.id, cut);
}

/** What was asked for together with the lock; it is right until something is written. */
interface Known {
  place: Place;
  row: ObjectRow | undefined;
}

const isPlace = (a: Place, b: Place) => a.resource === b.resource && a.namespace === b.namespace && a.name === b.name;

function makeWriting(tx: Tx, cluster: Cluster, space: SpaceRow, made: Made, known: Known | undefined, isHouse: boolean): Writing {
  const note = (place: Place) => {
    made.version++;
    made.touchesRbac ||= place.resource.endsWith('.rbac.authorization.k8s.io');
  };
  const send = (...statements: Promise<unknown>[]) => {
    for (const statement of statements) statement.catch(() => {}); // told when all are waited for
    made.sent.push(...statements);
  };
  return {
    tx,
    cluster,
    now: `${space.now.slice(0, 19)}Z`,
    find: async (place) => {
      const isKnown = known && made.version === space.version && isPlace(known.place, place);
      const row = isKnown ? known.row : await readObject(tx, cluster, place);
      return row && { object: JSON.parse(row.body) as KubeObject, bytes: row.bytes };
    },
    put: async (place, object, before) => {
      note(place);
      object.metadata.uid ??= randomUUID();
      object.metadata.resourceVersion = String(made.version);
      requireFewParts(object, before);
      const body = JSON.stringify(object);
      const bytes = Buffer.byteLength(body);
      requireRoom(cluster, space, made, { place, object, bytes, before, isHouse });
      made.objects += before ? 0 : 1;
      made.bytes += bytes - (before?.bytes ?? 0);
      made.logBytes += bytes;
      const { uid, deletionTimestamp, ownerReferences = [] } = object.metadata;
      const row = { ...place, version: made.version, uid, bytes, deleting: deletionTimestamp !== undefined };
      send(
        putObject(tx, cluster, { ...row, owners: ownerReferences.map((owner) => owner.uid), body }),
        addChange(tx, cluster, {
          ...place,
          ...{
            version: made.version,
            type: before ? 'MODIFIED' : 'ADDED',
            was: before ? tellDifference(before.object, object) : null,
            bytes,
            body,
          },
        }),
      );
      return object;
    },
    remove: async (place, { object: last, bytes }, orphans = false) => {
      note(place);
      const object = { ...last, metadata: { ...last.metadata, resourceVersion: String(made.version) } };
      const body = JSON.stringify(object);
      made.objects--;
      made.bytes -= bytes;
      const size = Buffer.byteLength(body);
      made.logBytes += size;
      send(
        deleteObject(tx, cluster.id, place),
        addChange(tx, cluster, { ...place, version: made.version, type: 'DELETED', was: null, bytes: size, body }),
        ...(orphans ? [] : [noteGoneOwner(tx, cluster.org, cluster.id, last.metadata.uid!)]),
        releaseAddresses(tx, cluster, last),
      );
      return object;
    },
  };
}

/** What selectors saw before, if it is not what they see now: a watch then tells whether the object came into its sight or left it. */
function tellDifference(before: KubeObject, after: KubeObject): string | null {
  const was = JSON.stringify(selectableOf(before));
  return was === JSON.stringify(selectableOf(after)) ? null : was;
}

/** Values and fields in an object, up to one more than there may be. */
function countParts(value: unknown, most: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  let parts = 1;
  for (const item of Object.values(value)) {
    parts += countParts(item, most - parts);
    if (parts > most) break;
  }
  return parts;
}

/** One that has more already, from before there was a bound, may be changed as long as it does not grow. */
function requireFewParts(object: KubeObject, before: Existing | undefined): void {
  if (countParts(object, limits.objectParts) <= limits.objectParts) return;
  if (before && countParts(object, limits.bodyParts) <= countParts(before.object, limits.bodyParts)) return;
  throw tooLarge(`the object has more than ${limits.objectParts} fields and values; share them out among several objects`);
}

/** Kinds that a full cluster needs to be looked after: who may, and that its nodes live. */
const isVital = ({ resource }: Place) =>
  resource === 'nodes' || resource === 'leases.coordination.k8s.io' || resource.endsWith('.rbac.authorization.k8s.io');

interface Wanted {
  place: Place;
  object: KubeObject;
  bytes: number;
  before: Existing | undefined;
  isHouse: boolean;
}

/** A part of the store is kept back: half of it for roles, leases and nodes, the rest for the house. What is to go may always say so. */
function requireRoom(cluster: Cluster, space: SpaceRow, made: Made, { place, object, bytes, before, isHouse }: Wanted): void {
  if (bytes > limits.objectBytes) throw tooLarge(`the object has ${bytes} bytes; at most ${limits.objectBytes} are kept`);
  if (before && object.metadata.deletionTimestamp) return;
  const part = isHouse ? 0 : isVital(place) ? 0.5 : 1;
  const most = roomOf(cluster);
  const objects = most.objects - Math.ceil(part * most.reserve.objects);
  if (!before && space.objects + made.objects >= objects)
    throw full(`this cluster holds ${objects} objects, as many as it may; delete some first`);
  const grown = bytes - (before?.bytes ?? 0);
  const room = most.bytes - Math.ceil(part * most.reserve.bytes);
  if (grown > 0 && space.bytes + made.bytes + grown > room)
    throw full(`this cluster’s objects have ${room} bytes, as many as they may; delete some first, or choose a larger tier`);
}

const full = (why: string) => new ApiError(403, 'Forbidden', `${fullWords}: ${why}`, {});
