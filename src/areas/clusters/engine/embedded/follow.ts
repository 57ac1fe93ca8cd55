import { runFor } from '../../../../kernel/fairness/index.ts';
import { yieldToLoop } from '../../../../kernel/yielding.ts';
import type { KubeObject } from '../../rules/kubernetes/object.ts';
import { type Selectable, selectableOf } from '../../rules/kubernetes/selectors.ts';
import { type ChangeRow, listChanges } from '../../store/object-changes.ts';
import { readSpace } from '../../store/objects.ts';
import { type Cluster, limits } from './cluster.ts';

// One reader of a cluster's changes for all its watches in this process. It looks when it is woken, and now and then by itself.

/** A change as watches look at it; what is dear to find out is found out once for all of them. */
export interface Change extends ChangeRow {
  seen(): Selectable;
  /** What selectors saw before; the same as now unless it says otherwise. */
  seenBefore(): Selectable;
}

export interface Hearer {
  resource: string;
  /** Every change of its kind after it joined, in order. */
  hear(change: Change): void;
  /** Changes were forgotten before they could be told. */
  lose(): void;
  /** From time to time: everything up to this version was told. */
  mark(version: number): void;
}

export interface Follower {
  /** Joins, and says up to which version its changes are to be read by oneself. */
  join(hearer: Hearer): Promise<number>;
  leave(hearer: Hearer): void;
  stop(): void;
}

const lookEveryMs = 5_000;
const markEveryMs = 60_000;
/** Others have their turn after so many watches were told, or so many bytes: whoever reads has taken them by then. */
const hearersAtOnce = 500;
const bytesAtOnce = 2_097_152;

interface Following {
  cluster: Cluster;
  hearers: Map<string, Set<Hearer>>;
  count: number;
  /** Changes up to this version were told; undefined while nobody listens. */
  position: number | undefined;
  starting: Promise<number> | undefined;
  isDirty: boolean;
  isReading: boolean;
  end: () => void;
}

export function makeChange(row: ChangeRow): Change {
  let seen: Selectable | undefined;
  const now = () => (seen ??= selectableOf(JSON.parse(row.body) as KubeObject));
  return { ...row, seen: now, seenBefore: () => (row.was === null ? now() : (JSON.parse(row.was) as Selectable)) };
}

export function makeFollower(cluster: Cluster): Follower {
  const following: Following = {
    ...{ cluster, hearers: new Map(), count: 0, position: undefined, starting: undefined },
    ...{ isDirty: false, isReading: false, end: () => {} },
  };
  return {
    join: async (hearer) => {
      const position = following.position ?? (await start(following));
      // Nothing was told since: this goes on in the same turn in which the position was read.
      const hearers = following.hearers.get(hearer.resource) ?? new Set();
      following.hearers.set(hearer.resource, hearers.add(hearer));
      following.count++;
      return following.position ?? position;
    },
    leave: (hearer) => {
      if (!following.hearers.get(hearer.resource)?.delete(hearer)) return;
      following.count--;
      if (following.count === 0) rest(following);
    },
    stop: () => rest(following),
  };
}

/** Of several who join first, one asks where to begin. */
function start(following: Following): Promise<number> {
  following.starting ??= begin(following).finally(() => (following.starting = undefined));
  return following.starting;
}

async function begin(following: Following): Promise<number> {
  const { cluster } = following;
  const look = () => {
    following.isDirty = true;
    if (following.isReading) return;
    following.isReading = true;
    void runFor({ org: cluster.org, operation: 'kubernetes watch' }, () => readOn(following));
  };
  // Heard before the position is read: what commits in between wakes us too.
  const deafen = cluster.app.waker.hear(cluster.channel, look);
  const space = await cluster.app.db
    .read((tx) => readSpace(tx, cluster.id))
    .catch((error) => {
      deafen();
      throw error;
    });
  const timer = setInterval(look, lookEveryMs).unref();
  const marks = setInterval(() => markAll(following), markEveryMs).unref();
  following.end = () => {
    deafen();
    clearInterval(timer);
    clearInterval(marks);
  };
  following.position = space?.version ?? 0;
  return following.position;
}

function rest(following: Following): void {
  following.end();
  following.end = () => {};
  following.position = undefined;
}

const everyHearer = ({ hearers }: Following) => [...hearers.values()].flatMap((set) => [...set]);

function markAll(following: Following): void {
  if (following.position === undefined || following.isReading) return;
  for (const hearer of everyHearer(following)) hearer.mark(following.position);
}

/** Reads on until nothing is new. Never in the turn of whoever woke us. */
async function readOn(following: Following): Promise<void> {
  await yieldToLoop();
  while (following.isDirty && following.position !== undefined) {
    following.isDirty = false;
    try {
      while (following.position !== undefined && (await readPortion(following)));
    } catch (error) {
      following.cluster.app.log.debug(
        { err: error, cluster: following.cluster.id },
        'changes could not be read; they are looked for again',
      );
      break; // the clock looks again
    }
  }
  following.isReading = false;
}

/** True: there may be more. */
async function readPortion(following: Following): Promise<boolean> {
  const { cluster } = following;
  const after = following.position!;
  const { rows, space } = await cluster.app.db.read(async (tx) => {
    const portion = { after, resource: undefined, most: limits.portionRows, bytes: limits.portionBytes };
    const found = await listChanges(tx, cluster, portion);
    return { rows: found, space: await readSpace(tx, cluster.id) };
  });
  if (following.position !== after) return false; // everybody left meanwhile
  if (!space || space.oldest > after) {
    following.position = space?.version ?? after;
    for (const hearer of everyHearer(following)) hearer.lose();
    return false;
  }
  for (const row of rows) {
    following.position = row.version;
    if (row.type === 'DELETED') for (const end of [...(cluster.endings.get(`${row.resource} ${row.namespace}/${row.name}`) ?? [])]) end();
    await tell(following, makeChange(row));
    if (following.position !== row.version) return false;
  }
  return rows.length > 0;
}

async function tell({ hearers }: Following, change: Change): Promise<void> {
  let told = 0;
  // Whoever joins meanwhile reads this change by itself: the position has moved already.
  for (const hearer of [...(hearers.get(change.resource) ?? [])]) {
    hearer.hear(change);
    if (++told < hearersAtOnce && told * change.body.length < bytesAtOnce) continue;
    told = 0;
    await yieldToLoop();
  }
}
