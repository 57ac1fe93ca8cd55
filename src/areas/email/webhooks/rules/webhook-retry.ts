const minute = 60;
const hour = 60 * minute;

/** Seconds after each failed attempt: ten attempts over about three days. */
const retryDelays = [5, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour] as const;
export const maxAttempts = retryDelays.length + 1;

/** Limit for an endpoint's Retry-After. */
const maxRetryAfterSeconds = hour;

/** Seconds until the next attempt, with up to 20 % jitter; undefined: no more attempts. `chance` is in [0, 1). */
export function delayAfterAttempt(attempt: number, chance: number, retryAfter = 0): number | undefined {
  const delay = retryDelays[attempt - 1];
  return delay === undefined ? undefined : Math.max(delay, Math.min(retryAfter, maxRetryAfterSeconds)) * (1 + 0.2 * chance);
}

/** RFC 9110, 10.2.3: seconds or a date. Undefined: absent or malformed. */
export function readRetryAfter(header: string | undefined, nowSeconds: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header);
  const at = Date.parse(header);
  return Number.isNaN(at) ? undefined : Math.max(0, at / 1_000 - nowSeconds);
}

/** An endpoint with only failures for this long is disabled. */
export const maxFailingDays = 5;
