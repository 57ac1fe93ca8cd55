import { randomInt } from 'node:crypto';

/** Backoff that doubles from 1 s to 30 s, with jitter. A refused token is retried about once a minute. */
export function retryDelayMs(failures: number, status = 0): number {
  const mean = status === 401 || status === 403 ? 60_000 : Math.min(30_000, 1000 * 2 ** Math.min(10, failures - 1));
  return Math.round((mean * randomInt(50, 101)) / 100);
}
