import { signal } from '@preact/signals';

// Ages are counted by the server's clock: that of a browser may be wrong by hours.

let aheadMs = 0;

/** Notes the `Date` of an answer. It is in whole seconds, so a small difference says nothing. */
export function noteServerTime(date: string | null): void {
  const at = date ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(at)) return;
  const ahead = at - Date.now();
  const before = aheadMs;
  aheadMs = Math.abs(ahead) < 2_000 ? 0 : ahead;
  // What is on the screen was counted by the other clock.
  if (Math.abs(aheadMs - before) >= 2_000) now.value = serverNow();
}

export const serverNow = (): number => Date.now() + aheadMs;

/** For how long ago something was on this device. It counts the time that the device slept, which the monotonic clock leaves out in some browsers. */
export const deviceNow = (): number => Date.now();

/** Ticks every 10 s while the page is seen, so that ages on it stay true. */
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden) now.value = serverNow();
}, 10_000);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) now.value = serverNow();
});
