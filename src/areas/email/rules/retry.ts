const minutes = (n: number) => n * 60;

/** Seconds until the next try, after the first "later", the second, and so on: quick at first, since greylisting asks for minutes only. */
const schedule = [minutes(1), minutes(5), minutes(10), minutes(20), minutes(40), minutes(90), minutes(180), minutes(240)];

const most = schedule.at(-1)!;

const units: Record<string, number> = { s: 1, m: 60, h: 3600 };
const hint =
  /\b(?:again|later|retry|wait|back|after|delayed?|deferred)\b[^.;]{0,40}?\b(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?|hrs?)\b/i;

/** Seconds that the other side asked for: "try again in 300 seconds", "greylisted for 5 minutes". */
export function askedDelay(text: string): number | undefined {
  const [, number, unit] = hint.exec(text.slice(0, 1_000)) ?? [];
  if (number === undefined || unit === undefined) return undefined;
  return Number(number) * units[unit[0]!.toLowerCase()]!;
}

/**
 * Seconds until a recipient is tried again. `tries` is how often the other side has said "later" before; `random` from 0 to 1 spreads those
 * that were refused together by a tenth either way. A wish is granted, with a little more, as far as our own longest wait.
 */
export function delayAfter(tries: number, random: number, text = ''): number {
  const asked = askedDelay(text);
  const planned = schedule[Math.min(Math.max(0, Math.floor(tries)), schedule.length - 1)]! * (0.9 + 0.2 * random);
  if (asked === undefined) return Math.round(planned);
  return Math.round(Math.min(most, Math.max(30, asked + 5 + 10 * random)));
}

/** Seconds for which a site is left alone after so many failures in a row to reach it: 1 minute, doubling, to half an hour. */
export function restAfter(failures: number, random: number): number {
  const base = Math.min(minutes(30), minutes(1) * 2 ** Math.min(10, Math.max(0, failures - 1)));
  return Math.round(base * (0.9 + 0.2 * random));
}
