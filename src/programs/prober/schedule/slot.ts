/** FNV-1a, 32 bits: the same in every process and on every machine. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * A monitor's slot within its interval, in milliseconds. The hash picks a second, so that monitors spread evenly and the vantages of one
 * monitor alternate, and a moment within it, so that checks of one second do not start together.
 */
export function offsetOf(monitorId: string, vantage: string, intervalSeconds: number): number {
  const hash = fnv1a(`${monitorId}:${vantage}`);
  // Other bits than those that chose the second.
  return (hash % intervalSeconds) * 1000 + ((Math.imul(hash, 0x9e3779b1) >>> 12) % 1000);
}

/** Time from this wall clock to the next slot, 0 to just below the interval. */
export const untilOffset = (offsetMs: number, intervalMs: number, wall: number): number =>
  (((offsetMs - wall) % intervalMs) + intervalMs) % intervalMs;
