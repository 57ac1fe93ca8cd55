const minute = 60;
const hour = 60 * minute;

/** Seconds after each attempt that failed: ten attempts over about three days. */
const delays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour] as const;
export const mostAttempts = delays.length + 1;

/** However long an endpoint asks us to wait. */
const mostRetryAfter = hour;

/** Seconds until the next attempt; undefined: there is none. Never earlier than said, up to a fifth later. `chance` is in [0, 1). */
export function delayAfterAttempt(attempt: number, chance: number, retryAfter = 0): number | undefined {
  const delay = delays[attempt - 1];
  return delay === undefined ? undefined : Math.max(delay, Math.min(retryAfter, mostRetryAfter)) * (1 + 0.2 * chance);
}

/** RFC 9110, 10.2.3: seconds, or a date. Undefined: it says nothing that we understand. */
export function readRetryAfter(header: string | undefined, nowSeconds: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at / 1_000 - nowSeconds);
}

/** Nothing but failures for so long, and nobody is there. */
export const mostFailingDays = 5;
