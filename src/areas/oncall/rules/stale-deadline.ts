// How long a sender of alerts may say nothing of one that fires. An Alertmanager repeats itself, but does not say how often.

const hour = 3_600;
/** Until a repetition was seen: a day, the longest repeat_interval that is common, and an hour for its delay. */
const defaultStaleSeconds = 25 * hour;
/** However short the repetitions seen: a group that changes is sent at once, and then not before its repeat_interval, 4 h by default. */
const minStaleSeconds = 5 * hour;
/** A longer pause is an absence, not a habit. */
export const maxRepeatSeconds = 48 * hour;

/** When the sender has fallen silent, should it say nothing more until then. */
export const staleDeadline = (now: string, repeatSeconds: number | null): string =>
  new Date(
    Date.parse(now) + (repeatSeconds === null ? defaultStaleSeconds : Math.max(minStaleSeconds, 2 * repeatSeconds)) * 1000,
  ).toISOString();
