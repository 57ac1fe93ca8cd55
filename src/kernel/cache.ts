import type { Tx } from './db.ts';
import { run } from './db.ts';
import { type CacheFrame, type CacheOptions, type DropCache, TopicCache } from './drop-cache.ts';
import type { Listener } from './listen.ts';
import type { Logger } from './log.ts';

export type { DropCache } from './drop-cache.ts';

/** Everything this process remembers of the database and must forget when another process changes it. */
export interface Caches {
  make<V extends {}>(options?: CacheOptions<V>): DropCache<V>;
  /** Forget a topic in every process once this transaction commits; in this one before the answer leaves. */
  drop(tx: Tx, topic: string): Promise<void>;
  dropAll(): void;
}

const channel = 'qd_drop';
export const everything = '*';

/** For whoever remembers nothing itself, such as the operator's command line: every process forgets the topic once this commits. */
export const dropElsewhere = async (tx: Tx, topic: string): Promise<void> => void (await run(tx)`select pg_notify(${channel}, ${topic})`);

export function makeCaches(listener: Listener, log?: Pick<Logger, 'error'>): Caches {
  const frame: CacheFrame = { listener, log, drops: 0 };
  const all: Pick<TopicCache<object>, 'dropTopic' | 'clear'>[] = [];

  const forget = (topic: string) => {
    frame.drops++;
    for (const cache of all) topic === everything ? cache.clear() : cache.dropTopic(topic);
  };
  listener.on(channel, forget);
  listener.onChange(() => forget(everything));

  return {
    make: <V extends {}>(options: CacheOptions<V> = {}) => {
      const cache = new TopicCache<V>(frame, options);
      all.push(cache);
      return cache;
    },
    drop: async (tx, topic) => {
      await dropElsewhere(tx, topic);
      tx.afterCommit(() => forget(topic));
    },
    dropAll: () => forget(everything),
  };
}
