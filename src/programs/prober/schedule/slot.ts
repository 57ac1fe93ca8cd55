/** FNV-1a, 32 bits: the same in every process and on every machine. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * Where in its interval a monitor has its place, in milliseconds: a second by the hash, so that monitors spread evenly and vantages of
 * one monitor take turns, and a moment within that second, so that those of one second do not start as one.
 */
export function offsetOf(monitorId: string, vantage: string, intervalSeconds: number): number {
  const hash = fnv1a(`${monitorId}:${vantage}`);
  // Other bits than those that chose the second.
  return (hash % intervalSeconds) * 1000 + ((Math.imul(hash, 0x9e3779b1) >>> 12) % 1000);
}

/** How long after this wall time the place comes round, 0 to just below the interval. */
export const untilOffset = (offsetMs: number, intervalMs: number, wall: number): number =>
  (((offsetMs - wall) % intervalMs) + intervalMs) % intervalMs;
