import { LRUCache } from 'lru-cache';
import { boundedTo } from '../kernel/bounded-map.ts';

interface Bucket {
  tokens: number;
  at: number;
}

export interface Verdict {
  allowed: boolean;
  remaining: number;
  /** Seconds until one more request fits. */
  resetSeconds: number;
}

/** A token bucket for each subject, in this process's memory: never a database write for a request. */
export interface RateLimit {
  perMinute: number;
  take(subject: string): Verdict;
  /** Returns one taken token. */
  giveBack(subject: string): void;
  /** How many fit now, without taking one. */
  left(subject: string): number;
  /** Seconds to wait before one more fits; 0: it fits now. */
  wait(subject: string): number;
}

/** `burst`: the bucket's size; by default the rate per minute. */
export function rateLimit(perMinute: number, monotonic: () => number = () => performance.now(), burst = perMinute): RateLimit {
  const buckets = new LRUCache<string, Bucket>(boundedTo(100_000));
  const perMs = perMinute / 60_000;
  const refilled = (subject: string): Bucket => {
    const at = monotonic();
    const known = buckets.get(subject);
    const bucket = known ?? { tokens: burst, at };
    if (!known) buckets.set(subject, bucket);
    bucket.tokens = Math.min(burst, bucket.tokens + (at - bucket.at) * perMs);
    bucket.at = at;
    return bucket;
  };
  const wait = (bucket: Bucket) => (bucket.tokens >= 1 ? 0 : Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)));
  return {
    perMinute,
    left: (subject) => (perMinute === 0 ? Number.POSITIVE_INFINITY : Math.floor(refilled(subject).tokens)),
    wait: (subject) => (perMinute === 0 ? 0 : wait(refilled(subject))),
    giveBack: (subject) => {
      if (perMinute > 0) refilled(subject).tokens += 1;
    },
    take: (subject) => {
      if (perMinute === 0) return { allowed: true, remaining: 0, resetSeconds: 0 };
      const bucket = refilled(subject);
      const seconds = wait(bucket);
      if (seconds === 0) bucket.tokens -= 1;
      return { allowed: seconds === 0, remaining: Math.floor(bucket.tokens), resetSeconds: seconds || 1 };
    },
  };
}
