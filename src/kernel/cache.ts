import { LRUCache } from 'lru-cache';
import { atMost } from './at-most.ts';
import type { Tx } from './db.ts';
import { run } from './db.ts';
import type { Listener } from './listen.ts';
import type { Logger } from './log.ts';

/** Entries are dropped by topic: a user, an organization, a token, a registry key … */
interface Entry<V> {
  /** What it was remembered under: a hit counts only if this is what was asked for, so that no slot mixed up below can hand over rights. */
  key: string;
  value: V;
  topics: readonly string[];
  staleAt: number;
}

export interface DropCache<V extends {}> {
  /** The remembered value, or the filled one. `fill` says for which topics its answer must be forgotten. */
  get(key: string, fill: () => Promise<{ value: V; topics: readonly string[]; ttlMs?: number } | undefined>): Promise<V | undefined>;
  peek(key: string): V | undefined;
  /** Called when a value is forgotten for whatever reason: whoever still leans on it must ask again. It is gone by then, and the
   *  call comes in a turn of its own, so that a listener may ask, fill and drop as it likes. */
  onDrop(act: (value: V) => void): void;
}

export interface CacheOptions<V> {
  max?: number;
  ttlMs?: number;
  /** For values of very different size: their bytes, and how many all of them together may have. */
  bytes?: { of(value: V): number; most: number };
}

/** Everything this process remembers of the database and must forget when another process changes it. */
export interface Caches {
  make<V extends {}>(options?: CacheOptions<V>): DropCache<V>;
  /** Forget a topic in every process once this transaction commits; in this one before the answer leaves. */
  drop(tx: Tx, topic: string): Promise<void>;
  dropAll(): void;
}

const channel = 'qd_drop';
export const everything = '*';
/** What could not be kept cannot be dropped either: whoever leans on it is made to ask again this soon. */
const unkeptMs = 1_000;

/** For whoever remembers nothing itself, such as the operator's command line: every process forgets the topic once this commits. */
export const dropElsewhere = async (tx: Tx, topic: string): Promise<void> => void (await run(tx)`select pg_notify(${channel}, ${topic})`);

export function makeCaches(listener: Listener, log?: Pick<Logger, 'error'>): Caches {
  const all: { drop(topic: string): void; clear(): void }[] = [];
  let drops = 0; // moves with every drop: a fill that began before it may have read the old truth, and is not kept

  const forget = (topic: string) => {
    drops++;
    for (const cache of all) topic === everything ? cache.clear() : cache.drop(topic);
  };
  listener.on(channel, forget);
  listener.onChange(() => forget(everything));

  const make = <V extends {}>({ max = 50_000, ttlMs = 60_000, bytes }: CacheOptions<V> = {}): DropCache<V> => {
    const byTopic = new Map<string, Set<Entry<V>>>();
    const droppers: ((value: V) => void)[] = [];
    const tell = (values: V[]) => {
      for (const value of values) for (const act of droppers) act(value);
    };

    // The library calls `dispose` in the middle of its own work, with the entry still half in its slot. It is only noted there: a
    // listener that asked again from inside had the slot freed twice, and two keys shared it.
    let disposed: Entry<V>[] = [];
    const entries = new LRUCache<string, Entry<V>>({
      ...(bytes ? { max, maxSize: bytes.most, sizeCalculation: ({ value }) => bytes.of(value) || 1 } : atMost(max)),
      dispose: (entry) => void disposed.push(entry),
    });
    /** After every call that may have disposed of entries. */
    const settle = () => {
      if (!disposed.length) return;
      const gone = disposed;
      disposed = [];
      for (const entry of gone) unlist(entry);
      if (droppers.length) queueMicrotask(() => tell(gone.map(({ value }) => value)));
    };
    const list = (entry: Entry<V>) => {
      for (const topic of entry.topics) {
        const listed = byTopic.get(topic);
        if (listed) listed.add(entry);
        else byTopic.set(topic, new Set([entry]));
      }
    };
    const unlist = (entry: Entry<V>) => {
      for (const topic of entry.topics) {
        const listed = byTopic.get(topic);
        if (listed?.delete(entry) && listed.size === 0) byTopic.delete(topic);
      }
    };
    const remove = (key: string) => {
      entries.delete(key);
      settle();
    };
    const clear = () => {
      entries.clear();
      settle();
    };
    const filling = new Map<string, Promise<V | undefined>>();

    const peek = (key: string) => {
      if (!listener.hearing) return undefined;
      const entry = entries.get(key);
      if (!entry) return undefined;
      if (entry.key !== key) {
        log?.error({ event: 'cache.mixed-up' }, 'a cache answered with an entry of another key; it was emptied, and nobody was given it');
        clear();
        return undefined;
      }
      if (performance.now() < entry.staleAt) return entry.value;
      remove(key);
      return undefined;
    };

    const fillOnce = async (key: string, fill: Parameters<DropCache<V>['get']>[1]) => {
      const before = drops;
      const began = performance.now(); // how long it holds was read some time after this, never before
      const filled = await fill();
      if (!filled) return undefined;
      const staleAt = began + Math.min(ttlMs, filled.ttlMs ?? ttlMs);
      const entry = { key, value: filled.value, topics: filled.topics, staleAt };
      if (drops === before && listener.hearing) {
        entries.set(key, entry);
        settle();
      }
      if (entries.peek(key) === entry) list(entry);
      // Not kept, because something was dropped meanwhile, because we are deaf, or because it alone is too big.
      else if (droppers.length) setTimeout(tell, unkeptMs, [filled.value]).unref();
      return filled.value;
    };

    const get: DropCache<V>['get'] = (key, fill) => {
      const known = peek(key);
      if (known !== undefined) return Promise.resolve(known);
      // One fill at a time for a key; but never join one that began before a drop: it may carry the old truth. While deaf, any may.
      if (!listener.hearing) return fillOnce(key, fill);
      const joined = `${drops} ${key}`;
      const running = filling.get(joined);
      // Nothing is dropped when something comes to be: what was absent when somebody else asked may be there by now.
      if (running) return running.then((found) => found ?? fillOnce(key, fill));
      const filled = fillOnce(key, fill).finally(() => filling.delete(joined));
      filling.set(joined, filled);
      return filled;
    };

    all.push({
      drop: (topic) => {
        for (const { key } of [...(byTopic.get(topic) ?? [])]) remove(key);
      },
      clear,
    });
    return { get, peek, onDrop: (act) => droppers.push(act) };
  };

  return {
    make,
    drop: async (tx, topic) => {
      await dropElsewhere(tx, topic);
      tx.afterCommit(() => forget(topic));
    },
    dropAll: () => forget(everything),
  };
}
