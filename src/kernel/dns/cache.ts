import { LRUCache } from 'lru-cache';
import type { DnsAnswer } from './types.ts';

interface Entry {
  answer: DnsAnswer;
  /** By performance.now(). */
  expiresAt: number;
}

/** Upper limits of the cached time, also for records with a TTL of a day. */
const maxSeconds = { present: 3_600, absent: 300 };
const maxBytes = 16 * 2 ** 20;

export type DnsCache = ReturnType<typeof makeDnsCache>;

/**
 * Caches answers for their TTL. Callers of one organization that ask the same question share the query in flight. A query of another
 * organization is not shared: it may still wait for a slot, since that organization has used up its share. Failures are not cached.
 */
export function makeDnsCache() {
  const entries = new LRUCache<string, Entry>({ maxSize: maxBytes, sizeCalculation: ({ answer }) => sizeOf(answer) });
  const inFlight = new Map<string, Promise<DnsAnswer>>();

  const keep = (key: string, answer: DnsAnswer) => {
    const limit = answer.outcome === 'found' ? maxSeconds.present : maxSeconds.absent;
    const seconds = answer.outcome === 'servfail' || answer.outcome === 'timeout' ? 0 : Math.min(answer.ttl, limit);
    if (seconds > 0) entries.set(key, { answer, expiresAt: performance.now() + seconds * 1_000 });
    return answer;
  };

  return (key: string, ask: () => Promise<DnsAnswer>, org = ''): Promise<DnsAnswer> => {
    const entry = entries.get(key);
    const leftMs = entry ? entry.expiresAt - performance.now() : 0;
    if (entry && leftMs > 0) return Promise.resolve({ ...entry.answer, ttl: Math.ceil(leftMs / 1_000) });
    const inFlightKey = `${org} ${key}`;
    const running = inFlight.get(inFlightKey);
    if (running) return running;
    const asked = ask()
      .then((answer) => keep(key, answer))
      .finally(() => inFlight.delete(inFlightKey));
    inFlight.set(inFlightKey, asked);
    return asked;
  };
}

const sizeOf = ({ records, aliases }: DnsAnswer) =>
  records.reduce((sum, { name, data }) => sum + 100 + name.length + lengthOf(data), 300 + aliases.length * 100);
const lengthOf = (data: unknown) =>
  typeof data === 'string' ? data.length : 300 + ((data as { certificate?: Buffer }).certificate?.length ?? 0);
