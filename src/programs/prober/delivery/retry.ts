import { randomInt } from 'node:crypto';

/** Doubling from a second to half a minute, and never all at the same moment. A key that is refused is not offered over and over. */
export function retryDelayMs(failures: number, status = 0): number {
  const mean = status === 401 || status === 403 ? 60_000 : Math.min(30_000, 1000 * 2 ** Math.min(10, failures - 1));
  return Math.round((mean * randomInt(50, 101)) / 100);
}
