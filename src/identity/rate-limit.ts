import { LRUCache } from 'lru-cache';

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
}

export function rateLimit(perMinute: number, monotonic: () => number = () => performance.now()): RateLimit {
  const buckets = new LRUCache<string, Bucket>({ max: 100_000 });
  const perMs = perMinute / 60_000;
  return {
    perMinute,
    take: (subject) => {
      if (perMinute === 0) return { allowed: true, remaining: 0, resetSeconds: 0 };
      const at = monotonic();
      let bucket = buckets.get(subject);
      if (!bucket) {
        bucket = { tokens: perMinute, at };
        buckets.set(subject, bucket);
      }
      bucket.tokens = Math.min(perMinute, bucket.tokens + (at - bucket.at) * perMs);
      bucket.at = at;
      const allowed = bucket.tokens >= 1;
      if (allowed) bucket.tokens -= 1;
      return {
        allowed,
        remaining: Math.floor(bucket.tokens),
        resetSeconds: allowed ? 1 : Math.max(1, Math.ceil((1 - bucket.tokens) / perMs / 1000)),
      };
    },
  };
}
