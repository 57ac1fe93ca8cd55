const minute = 60;
const hour = 60 * minute;

/**
 * `away`: the authority does not answer. `refused`: it could not verify the name, or does not certify it. `waiting`: nothing was asked of it yet,
 * because the name does not lead here.
 */
export type FailureKind = 'away' | 'refused' | 'waiting';

const pauses: Record<FailureKind, { firstSeconds: number; maxSeconds: number }> = {
  away: { firstSeconds: minute, maxSeconds: 6 * hour },
  refused: { firstSeconds: 15 * minute, maxSeconds: 24 * hour },
  waiting: { firstSeconds: minute, maxSeconds: 6 * hour },
};
const jitter = 0.2;
/** An authority that asks for more patience is asked again after this time. */
export const maxRetryAfterSeconds = 8 * 24 * hour;

/** The pause after this many failures in a row: it doubles, and varies by a fifth. `random` is in [0, 1). Never shorter than the authority asks. */
export function pauseSeconds(kind: FailureKind, failures: number, random: number, retryAfterSeconds = 0): number {
  const { firstSeconds, maxSeconds } = pauses[kind];
  const growing = Math.min(maxSeconds, firstSeconds * 2 ** Math.min(30, Math.max(0, failures - 1)));
  return Math.max(Math.round(growing * (1 - jitter + 2 * jitter * random)), Math.min(retryAfterSeconds, maxRetryAfterSeconds));
}

/** Two thirds of its life are over. */
export const renewalTime = (notBefore: number, notAfter: number): number => notBefore + ((notAfter - notBefore) * 2) / 3;

/** How often the operator should have been written to about a certificate that is not renewed: at a quarter of its life left, a twelfth, and its end. */
export function warningsDue(now: number, notBefore: number, notAfter: number): number {
  const left = (notAfter - now) / (notAfter - notBefore);
  return left <= 0 ? 3 : left <= 1 / 12 ? 2 : left <= 1 / 4 ? 1 : 0;
}
