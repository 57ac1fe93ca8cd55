// How long a sender may stay silent about a firing alert. An Alertmanager repeats alerts, but does not say how often.

const hour = 3_600;
/** Before the first repetition: a day, the longest common repeat_interval, and an hour for its delay. */
const defaultStaleSeconds = 25 * hour;
/** The minimum, even after short repetitions: a changed group is sent at once, and then only after repeat_interval, 4 h by default. */
const minStaleSeconds = 5 * hour;
/** A longer pause is an outage, not a repeat interval. */
export const maxRepeatSeconds = 48 * hour;

/** The time at which the alert becomes stale without further news. */
export const staleDeadline = (now: string, repeatSeconds: number | null): string =>
  new Date(
    Date.parse(now) + (repeatSeconds === null ? defaultStaleSeconds : Math.max(minStaleSeconds, 2 * repeatSeconds)) * 1000,
  ).toISOString();
