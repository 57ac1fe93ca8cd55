import { runFor } from '../../../../kernel/fairness/index.ts';
import { yieldToLoop } from '../../../../kernel/yielding.ts';
import { isPast, passing } from '../../rules/kubernetes/expiry.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { textsOf } from '../../rules/kubernetes/object.ts';
import { resourceStoredAs } from '../../rules/kubernetes/resources.ts';
import { ApiError } from '../../rules/kubernetes/status.ts';
import {
  countInNamespace,
  forgetGoneOwner,
  hasUid,
  listDeleting,
  listGoneOwners,
  listInNamespace,
  listObjects,
  listOwned,
  type ObjectRow,
} from '../../store/objects.ts';
import { removeExisting } from './change.ts';
import { type Cluster, limits } from './cluster.ts';
import { requireSpace } from './read.ts';
import { type Writing, writeObjects } from './write.ts';

// What goes after something else went: everything in a namespace that ends, everything whose owner is gone. In portions, one transaction each;
// a server that dies between two leaves the rest to whoever looks next.

const portion = 200;
const lookEveryMs = 30_000;
/** What goes by itself is looked for every five minutes at most, and when the cluster is opened. */
const looksPerPast = 10;

const namespacesAtOnce = 10;
/** Of namespaces that end, so many portions are looked at before the next look goes on behind them. */
const mostPortions = 20;

/** Where the walk over namespaces that end goes on. */
interface Course {
  after: string;
  portions: number;
}

export interface Sweeper {
  kick(): void;
  stop(): Promise<void>;
}

export function makeSweeper(cluster: Cluster): Sweeper {
  let isWanted = false;
  let looks = 0;
  const course: Course = { after: '', portions: 0 };
  let running: Promise<void> | undefined;
  const run = async () => {
    await yieldToLoop(); // never in the turn of whoever asks
    while (isWanted && !cluster.isStopped) {
      isWanted = false;
      try {
        course.portions = 0;
        while (!cluster.isStopped && (await sweepOnce(cluster, course))) await yieldToLoop();
        if (looks % looksPerPast === 0) await removePast(cluster);
        looks++;
      } catch (error) {
        cluster.app.log.debug({ err: error, cluster: cluster.id }, 'what is to go could not be cleared away; it is tried again');
      }
    }
    running = undefined;
  };
  const kick = () => {
    isWanted = true;
    running ??= runFor({ org: cluster.org, operation: 'kubernetes sweep' }, run);
  };
  const timer = setInterval(kick, lookEveryMs).unref();
  return {
    kick,
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}

/** What goes by itself: every object of such a kind is looked at, for the old ones may be those that were changed a moment ago. */
async function removePast(cluster: Cluster): Promise<void> {
  for (const resource of passing) {
    let after: { namespace: string; name: string } | undefined;
    for (;;) {
      const { rows, now } = await cluster.app.db.read(async (tx) => ({
        now: (await requireSpace(tx, cluster)).now,
        rows: await listObjects(tx, cluster, {
          ...{ resource, namespace: undefined, name: undefined, after },
          ...{ rows: portion, bytes: limits.portionBytes },
        }),
      }));
      const past = rows.filter((row) => isPast(JSON.parse(row.body) as KubeObject, now));
      if (past.length > 0)
        await writeObjects(cluster, async (writing) => {
          for (const { namespace, name } of past) {
            const still = await writing.find({ resource, namespace, name });
            if (still && !still.object.metadata.deletionTimestamp && isPast(still.object, now))
              await writing.remove({ resource, namespace, name }, still);
          }
        });
      const last = rows.at(-1);
      if (!last || cluster.isStopped) break;
      after = { namespace: last.namespace, name: last.name };
      await yieldToLoop();
    }
  }
}

/** One portion. True: there may be more. */
async function sweepOnce(cluster: Cluster, course: Course): Promise<boolean> {
  const { namespaces, owners } = await cluster.app.db.read(async (tx) => ({
    namespaces: await listDeleting(tx, cluster, 'namespaces', course.after, namespacesAtOnce),
    owners: await listGoneOwners(tx, cluster.id, 10),
  }));
  // The next ones have their turn next, however long these wait for their finalizers.
  const isRound = namespaces.length < namespacesAtOnce;
  course.after = isRound ? '' : namespaces.at(-1)!.name;
  let hasMoved = !isRound && ++course.portions < mostPortions;
  for (const { name } of namespaces) hasMoved = (await writeObjects(cluster, (writing) => emptyNamespace(writing, name))) || hasMoved;
  for (const { uid } of owners) hasMoved = (await writeObjects(cluster, (writing) => removeOwned(writing, uid))) || hasMoved;
  return hasMoved;
}

async function removeRow(writing: Writing, row: ObjectRow): Promise<void> {
  const resource = resourceStoredAs(row.resource);
  if (!resource) return;
  const object = JSON.parse(row.body) as KubeObject;
  const target = { resource, namespace: row.namespace, name: row.name };
  try {
    await removeExisting(writing, target, { object, bytes: row.bytes }, { isDryRun: false, orphans: false });
  } catch (error) {
    if (!(error instanceof ApiError)) throw error; // such as a namespace that stays, whoever owned it
  }
}

async function emptyNamespace(writing: Writing, name: string): Promise<boolean> {
  const { tx, cluster } = writing;
  const place = { resource: 'namespaces', namespace: '', name };
  const before = await writing.find(place);
  if (!before?.object.metadata.deletionTimestamp) return false;
  const inside = await listInNamespace(tx, cluster, name, portion);
  for (const row of inside) await removeRow(writing, row);
  if (inside.length > 0) return true;
  // What is left waits for its finalizers; the namespace says for which.
  const left = await countInNamespace(tx, cluster.id, name, '');
  const own = textsOf(before.object.spec?.['finalizers']).filter((finalizer) => finalizer !== 'kubernetes');
  if (left.length === 0 && own.length === 0 && !before.object.metadata.finalizers?.length) {
    await writing.remove(place, before);
    return true;
  }
  const message = left.map(({ resource, n }) => `${resource} has ${n} resource instances`).join(', ');
  const conditions = [
    {
      type: 'NamespaceFinalizersRemaining',
      status: left.length ? 'True' : 'False',
      lastTransitionTime: writing.now,
      reason: 'SomeFinalizersRemain',
      message,
    },
  ];
  const known = (before.object.status?.['conditions'] as { message?: string }[] | undefined)?.[0]?.message;
  if (known !== message)
    await writing.put(
      place,
      { ...before.object, metadata: { ...before.object.metadata }, status: { phase: 'Terminating', conditions } },
      before,
    );
  return false;
}

async function removeOwned(writing: Writing, uid: string): Promise<boolean> {
  const { tx, cluster } = writing;
  const owned = await listOwned(tx, cluster, uid, portion);
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
    if (!isStillOwned) await removeRow(writing, row);
    else
      await writing.put(
        { resource: row.resource, namespace: row.namespace, name: row.name },
        { ...object, metadata: { ...object.metadata, ownerReferences: others } },
        { object, bytes: row.bytes },
      );
  }
  if (owned.length < portion) await forgetGoneOwner(tx, cluster.id, uid);
  return owned.length === portion;
}
