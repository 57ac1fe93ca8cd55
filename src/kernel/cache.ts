import { LRUCache } from 'lru-cache';
import { boundedTo } from './bounded-map.ts';
import type { Tx } from './db/index.ts';
import { run } from './db/index.ts';
import type { Listener } from './listen.ts';
import type { Logger } from './log.ts';

/** All in-memory caches of database rows. Entries are dropped when another process changes the rows. */
export interface Caches {
  make<V extends {}>(options?: CacheOptions<V>): DropCache<V>;
  /** Drops a topic in every process once this transaction commits; in this process before the response leaves. */
  drop(tx: Tx, topic: string): Promise<void>;
  dropAll(): void;
}

export interface DropCache<V extends {}> {
  /** The cached value, or the value that `fill` returns. `fill` names the topics that drop the entry. */
  get(key: string, fill: Fill<V>): Promise<V | undefined>;
  peek(key: string): V | undefined;
  /**
   * Called when an entry is dropped for any reason: its users must read again. The entry is gone by then. The call comes in a microtask of
   * its own, so a listener may get, fill and drop.
   */
  onDrop(act: (value: V) => void): void;
}

/** `tenant` owns the entry. A tenant has at most a quarter of a cache, so it cannot evict the entries of the others. */
type Fill<V> = () => Promise<{ value: V; topics: readonly string[]; ttlMs?: number; tenant?: string } | undefined>;

export interface CacheOptions<V> {
  max?: number;
  ttlMs?: number;
  /** For values of very different sizes: the bytes of one value, and the limit for all values together. */
  bytes?: { of(value: V): number; most: number };
}

const channel = 'qd_drop';
export const allTopics = '*';
/** A value that was not cached cannot be dropped either, so drop listeners are called after this time. */
const uncachedDropMs = 1_000;

/** For processes without caches, such as the operator's command line: every server drops the topic once this commits. */
export const notifyDrop = async (tx: Tx, topic: string): Promise<void> => void (await run(tx)`select pg_notify(${channel}, ${topic})`);

export function makeCaches(listener: Listener, log?: Pick<Logger, 'error'>): Caches {
  const shared: SharedState = { listener, log, drops: 0 };
  const all: Pick<TopicCache<object>, 'dropTopic' | 'clear'>[] = [];

  const forget = (topic: string) => {
    shared.drops++;
    for (const cache of all) topic === allTopics ? cache.clear() : cache.dropTopic(topic);
  };
  listener.on(channel, forget);
  listener.onChange(() => forget(allTopics));

  return {
    make: <V extends {}>(options: CacheOptions<V> = {}) => {
      const cache = new TopicCache<V>(shared, options);
      all.push(cache);
      return cache;
    },
    drop: async (tx, topic) => {
      await notifyDrop(tx, topic);
      tx.afterCommit(() => forget(topic));
    },
    dropAll: () => forget(allTopics),
  };
}

/** State shared by all caches of a process. */
interface SharedState {
  listener: Listener;
  log: Pick<Logger, 'error'> | undefined;
  /** Incremented with every drop. A fill that began before a drop may have read stale rows, so its result is not cached. */
  drops: number;
}

/** Entries are dropped by topic: a user, an organization, a token, a registry key … */
interface Entry<V> {
  /** The key it was stored under. A hit counts only if the keys match, so a mixed-up slot in the library can never hand over rights. */
  key: string;
  value: V;
  topics: readonly string[];
  staleAt: number;
  tenant: string | undefined;
}

/** The entries of one tenant in a cache, oldest first. */
interface TenantEntries<V> {
  entries: Set<Entry<V>>;
  size: number;
}

/** One cache, indexed by key and by topic. */
class TopicCache<V extends {}> implements DropCache<V> {
  private readonly shared: SharedState;
  private readonly ttlMs: number;
  private readonly max: number;
  private readonly entries: LRUCache<string, Entry<V>>;
  private readonly byTopic = new Map<string, Set<Entry<V>>>();
  private readonly byTenant = new Map<string, TenantEntries<V>>();
  private readonly sizeOf: (value: V) => number;
  private readonly maxPerTenant: number;
  private readonly filling = new Map<string, Promise<V | undefined>>();
  private readonly dropListeners: ((value: V) => void)[] = [];
  // The library calls `dispose` in the middle of its own work, with the entry still half in its slot. So disposals are only collected here.
  // A listener that read again from inside had the slot freed twice, and two keys shared it.
  private disposed: Entry<V>[] = [];

  constructor(frame: SharedState, { max = 50_000, ttlMs = 60_000, bytes }: CacheOptions<V>) {
    this.shared = frame;
    this.max = max;
    this.ttlMs = ttlMs;
    this.sizeOf = bytes ? bytes.of : () => 1;
    this.maxPerTenant = (bytes ? bytes.most : max) / 4;
    this.entries = new LRUCache<string, Entry<V>>({
      ...(bytes ? { maxSize: bytes.most, sizeCalculation: ({ value }) => bytes.of(value) || 1 } : boundedTo(max)),
      dispose: (entry) => void this.disposed.push(entry),
    });
  }

  peek(key: string): V | undefined {
    if (!this.shared.listener.hearing) return undefined;
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    if (entry.key !== key) {
      this.clearCorrupted();
      return undefined;
    }
    if (performance.now() < entry.staleAt) return entry.value;
    this.remove(key);
    return undefined;
  }

  get(key: string, fill: Fill<V>): Promise<V | undefined> {
    const known = this.peek(key);
    if (known !== undefined) return Promise.resolve(known);
    // One fill at a time for a key. A call never joins a fill that began before a drop, since that fill may return stale rows. While the
    // listener is deaf, any fill may.
    if (!this.shared.listener.hearing) return this.fillOnce(key, fill);
    const joined = `${this.shared.drops} ${key}`;
    const running = this.filling.get(joined);
    // An insert drops no topic, so a value that was absent for the other caller may exist by now.
    if (running) return running.then((value) => value ?? this.fillOnce(key, fill));
    const filled = this.fillOnce(key, fill).finally(() => this.filling.delete(joined));
    this.filling.set(joined, filled);
    return filled;
  }

  onDrop(act: (value: V) => void): void {
    this.dropListeners.push(act);
  }

  dropTopic(topic: string): void {
    for (const { key } of [...(this.byTopic.get(topic) ?? [])]) this.remove(key);
  }

  clear(): void {
    this.entries.clear();
    this.flushDisposed();
  }

  private remove(key: string): void {
    this.entries.delete(key);
    this.flushDisposed();
  }

  private clearCorrupted(): void {
    const sentence = 'a cache answered with an entry of another key; it was emptied, and nobody was given it';
    this.shared.log?.error({ event: 'cache.mixed-up' }, sentence);
    this.clear();
  }

  private async fillOnce(key: string, fill: Fill<V>): Promise<V | undefined> {
    const { shared, ttlMs } = this;
    const before = shared.drops;
    const began = performance.now(); // The fill reads its TTL after this moment, never before it
    const filled = await fill();
    if (!filled) return undefined;
    const staleAt = began + Math.min(ttlMs, filled.ttlMs ?? ttlMs);
    const entry = { key, value: filled.value, topics: filled.topics, staleAt, tenant: filled.tenant };
    if (shared.drops === before && shared.listener.hearing) {
      this.entries.set(key, entry);
      if (this.entries.size > this.max) this.entries.pop(); // when the library counts bytes, the number of entries is bounded here
      this.flushDisposed();
    }
    if (this.entries.peek(key) === entry) this.addToIndexes(entry);
    // Not cached: a topic was dropped meanwhile, the listener is deaf, or the entry alone is too large.
    else if (this.dropListeners.length) setTimeout(() => this.notifyDropped([entry]), uncachedDropMs).unref();
    return filled.value;
  }

  /**
   * Called after every operation that may dispose entries: removes them from the indexes, and notifies the drop listeners in a microtask.
   */
  private flushDisposed(): void {
    if (!this.disposed.length) return;
    const gone = this.disposed;
    this.disposed = [];
    for (const entry of gone) this.removeFromIndexes(entry);
    if (this.dropListeners.length) queueMicrotask(() => this.notifyDropped(gone));
  }

  private notifyDropped(gone: readonly Entry<V>[]): void {
    for (const { value } of gone) for (const act of this.dropListeners) act(value);
  }

  private addToIndexes(entry: Entry<V>): void {
    for (const topic of entry.topics) {
      const listed = this.byTopic.get(topic);
      if (listed) listed.add(entry);
      else this.byTopic.set(topic, new Set([entry]));
    }
    if (entry.tenant !== undefined) this.chargeTenant(entry, entry.tenant);
  }

  /** A tenant beyond its share loses its oldest entries. */
  private chargeTenant(entry: Entry<V>, tenant: string): void {
    const share = this.byTenant.get(tenant) ?? { entries: new Set(), size: 0 };
    this.byTenant.set(tenant, share);
    share.entries.add(entry);
    share.size += this.sizeOf(entry.value);
    for (const oldest of share.entries) {
      if (share.size <= this.maxPerTenant) return;
      this.remove(oldest.key);
    }
  }

  private refundTenant(entry: Entry<V>, tenant: string): void {
    const share = this.byTenant.get(tenant);
    if (!share?.entries.delete(entry)) return;
    share.size -= this.sizeOf(entry.value);
    if (!share.entries.size) this.byTenant.delete(tenant);
  }

  private removeFromIndexes(entry: Entry<V>): void {
    for (const topic of entry.topics) {
      const listed = this.byTopic.get(topic);
      if (listed?.delete(entry) && listed.size === 0) this.byTopic.delete(topic);
    }
    if (entry.tenant !== undefined) this.refundTenant(entry, entry.tenant);
  }
}
