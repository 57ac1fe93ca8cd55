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
  selectable(): Selectable;
  /** What selectors saw before; the same as now unless it says otherwise. */
  selectableBefore(): Selectable;
}

export interface Subscriber {
  resource: string;
  /** Every change of its kind after it joined, in order. */
  onChange(change: Change): void;
  /** Changes were forgotten before they could be told. */
  onExpired(): void;
  /** From time to time: everything up to this version was told. */
  onBookmark(version: number): void;
}

export interface ChangeFeed {
  /** Joins, and says up to which version its changes are to be read by oneself. */
  subscribe(subscriber: Subscriber): Promise<number>;
  unsubscribe(subscriber: Subscriber): void;
  stop(): void;
}

const pollIntervalMs = 5_000;
const bookmarkIntervalMs = 60_000;
/** Others have their turn after so many watches were told, or so many bytes: whoever reads has taken them by then. */
const subscribersPerTurn = 500;
const bytesPerTurn = 2_097_152;

interface FeedState {
  cluster: Cluster;
  subscribers: Map<string, Set<Subscriber>>;
  count: number;
  /** Changes up to this version were told; undefined while nobody listens. */
  position: number | undefined;
  starting: Promise<number> | undefined;
  isDirty: boolean;
  isReading: boolean;
  stopListening: () => void;
}

export function makeChange(row: ChangeRow): Change {
  let seen: Selectable | undefined;
  const now = () => (seen ??= selectableOf(JSON.parse(row.body) as KubeObject));
  return { ...row, selectable: now, selectableBefore: () => (row.was === null ? now() : (JSON.parse(row.was) as Selectable)) };
}

export function makeChangeFeed(cluster: Cluster): ChangeFeed {
  const feed: FeedState = {
    ...{ cluster, subscribers: new Map(), count: 0, position: undefined, starting: undefined },
    ...{ isDirty: false, isReading: false, stopListening: () => {} },
  };
  return {
    subscribe: async (subscriber) => {
      const position = feed.position ?? (await start(feed));
      // Nothing was told since: this goes on in the same turn in which the position was read.
      const subscribers = feed.subscribers.get(subscriber.resource) ?? new Set();
      feed.subscribers.set(subscriber.resource, subscribers.add(subscriber));
      feed.count++;
      return feed.position ?? position;
    },
    unsubscribe: (subscriber) => {
      if (!feed.subscribers.get(subscriber.resource)?.delete(subscriber)) return;
      feed.count--;
      if (feed.count === 0) goIdle(feed);
    },
    stop: () => goIdle(feed),
  };
}

/** Of several who join first, one asks where to begin. */
function start(feed: FeedState): Promise<number> {
  feed.starting ??= listen(feed).finally(() => (feed.starting = undefined));
  return feed.starting;
}

async function listen(feed: FeedState): Promise<number> {
  const { cluster } = feed;
  const poll = () => {
    feed.isDirty = true;
    if (feed.isReading) return;
    feed.isReading = true;
    void runFor({ org: cluster.org, operation: 'kubernetes watch' }, () => readNewChanges(feed));
  };
  // Heard before the position is read: what commits in between wakes us too.
  const unlisten = cluster.app.waker.hear(cluster.channel, poll);
  const space = await cluster.app.db
    .read((tx) => readSpace(tx, cluster.id))
    .catch((error) => {
      unlisten();
      throw error;
    });
  const pollTimer = setInterval(poll, pollIntervalMs).unref();
  const bookmarkTimer = setInterval(() => sendBookmarks(feed), bookmarkIntervalMs).unref();
  feed.stopListening = () => {
    unlisten();
    clearInterval(pollTimer);
    clearInterval(bookmarkTimer);
  };
  feed.position = space?.version ?? 0;
  return feed.position;
}

function goIdle(feed: FeedState): void {
  feed.stopListening();
  feed.stopListening = () => {};
  feed.position = undefined;
}

const allSubscribers = ({ subscribers }: FeedState) => [...subscribers.values()].flatMap((set) => [...set]);

function sendBookmarks(feed: FeedState): void {
  if (feed.position === undefined || feed.isReading) return;
  for (const subscriber of allSubscribers(feed)) subscriber.onBookmark(feed.position);
}

/** Reads on until nothing is new. Never in the turn of whoever woke us. */
async function readNewChanges(feed: FeedState): Promise<void> {
  await yieldToLoop();
  while (feed.isDirty && feed.position !== undefined) {
    feed.isDirty = false;
    try {
      while (feed.position !== undefined && (await readPage(feed)));
    } catch (error) {
      feed.cluster.app.log.debug({ err: error, cluster: feed.cluster.id }, 'changes could not be read; they are looked for again');
      break; // the clock looks again
    }
  }
  feed.isReading = false;
}

/** True: there may be more. */
async function readPage(feed: FeedState): Promise<boolean> {
  const { cluster } = feed;
  const after = feed.position!;
  const { rows, space } = await cluster.app.db.read(async (tx) => {
    const page = { after, resource: undefined, limit: limits.pageRows, bytes: limits.pageBytes };
    const found = await listChanges(tx, cluster, page);
    return { rows: found, space: await readSpace(tx, cluster.id) };
  });
  if (feed.position !== after) return false; // everybody left meanwhile
  if (!space || space.oldest > after) {
    feed.position = space?.version ?? after;
    for (const subscriber of allSubscribers(feed)) subscriber.onExpired();
    return false;
  }
  for (const row of rows) {
    feed.position = row.version;
    if (row.type === 'DELETED')
      for (const end of [...(cluster.watchesByCredential.get(`${row.resource} ${row.namespace}/${row.name}`) ?? [])]) end();
    await notifySubscribers(feed, makeChange(row));
    if (feed.position !== row.version) return false;
  }
  return rows.length > 0;
}

async function notifySubscribers({ subscribers }: FeedState, change: Change): Promise<void> {
  let notified = 0;
  // Whoever joins meanwhile reads this change by itself: the position has moved already.
  for (const subscriber of [...(subscribers.get(change.resource) ?? [])]) {
    subscriber.onChange(change);
    if (++notified < subscribersPerTurn && notified * change.body.length < bytesPerTurn) continue;
    notified = 0;
    await yieldToLoop();
  }
}
