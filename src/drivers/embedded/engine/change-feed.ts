import { runFor } from '../../../kernel/fairness/index.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import type { KubeObject } from '../rules/object.ts';
import { type Selectable, selectableOf } from '../rules/selectors.ts';
import { type ChangeRow, listChanges } from '../store/object-changes.ts';
import { readSpace } from '../store/objects.ts';
import { type Cluster, limits } from './cluster.ts';

// Reads a cluster's change log once for all watches in this process: after each notification, and every 5 s in case one was lost.

/** A change as subscribers see it. Selectable fields are parsed once, on first use, for all subscribers. */
export interface Change extends ChangeRow {
  selectable(): Selectable;
  /** The selectable fields before the change; the same as after it if the log holds no others. */
  selectableBefore(): Selectable;
}

export interface Subscriber {
  resource: string;
  /** Every change of this resource after the subscription, in version order. */
  onChange(change: Change): void;
  /** The log was trimmed before the feed could read it; changes are lost. */
  onExpired(): void;
  /** Periodic: every change up to this version was delivered. */
  onBookmark(version: number): void;
}

export interface ChangeFeed {
  /** Returns the feed's position. The subscriber reads changes up to that version from the log itself. */
  subscribe(subscriber: Subscriber): Promise<number>;
  unsubscribe(subscriber: Subscriber): void;
  stop(): void;
}

const pollIntervalMs = 5_000;
const bookmarkIntervalMs = 60_000;
/** The loop yields after this many subscribers or bytes; by then, clients that read have drained their sockets. */
const subscribersPerTurn = 500;
const bytesPerTurn = 2_097_152;

interface FeedState {
  cluster: Cluster;
  subscribers: Map<string, Set<Subscriber>>;
  count: number;
  /** Changes up to this version were delivered; undefined without subscribers. */
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
    cluster,
    subscribers: new Map(),
    count: 0,
    position: undefined,
    starting: undefined,
    isDirty: false,
    isReading: false,
    stopListening: () => {},
  };
  return {
    subscribe: async (subscriber) => {
      const position = feed.position ?? (await start(feed));
      // No change was delivered since the position was read: both happen in the same turn of the event loop.
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

/** Concurrent first subscribers share one start. */
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
  // Listens before the position is read, so that a commit in between also triggers a poll.
  const unlisten = cluster.app.waker.subscribe(cluster.channel, poll);
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

/** Reads until the log has no new changes. Yields first, so that it never runs in the turn of the notification. */
async function readNewChanges(feed: FeedState): Promise<void> {
  await yieldToLoop();
  while (feed.isDirty && feed.position !== undefined) {
    feed.isDirty = false;
    try {
      while (feed.position !== undefined && (await readPage(feed)));
    } catch (error) {
      feed.cluster.app.log.debug({ err: error, cluster: feed.cluster.id }, 'the change log could not be read; the read is retried');
      break; // the poll timer retries
    }
  }
  feed.isReading = false;
}

/** True: there may be more changes. */
async function readPage(feed: FeedState): Promise<boolean> {
  const { cluster } = feed;
  const after = feed.position!;
  const { rows, space } = await cluster.app.db.read(async (tx) => {
    const page = { after, resource: undefined, limit: limits.pageRows, bytes: limits.pageBytes };
    const found = await listChanges(tx, cluster, page);
    return { rows: found, space: await readSpace(tx, cluster.id) };
  });
  if (feed.position !== after) return false; // the last subscriber left during the read
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
  // A subscriber that joins during the loop reads this change from the log: the position has moved already.
  for (const subscriber of [...(subscribers.get(change.resource) ?? [])]) {
    subscriber.onChange(change);
    if (++notified < subscribersPerTurn && notified * change.body.length < bytesPerTurn) continue;
    notified = 0;
    await yieldToLoop();
  }
}
