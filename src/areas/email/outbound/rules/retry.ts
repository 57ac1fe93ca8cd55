const minutes = (n: number) => n * 60;

/** Seconds until the next attempt after the first deferral, the second, and so on. Short at first, since greylisting lasts minutes. */
const schedule = [minutes(1), minutes(5), minutes(10), minutes(20), minutes(40), minutes(90), minutes(180), minutes(240)];

const maxDelaySeconds = schedule.at(-1)!;

const units: Record<string, number> = { s: 1, m: 60, h: 3600 };
const delayHint =
  /\b(?:again|later|retry|wait|back|after|delayed?|deferred)\b[^.;]{0,40}?\b(\d{1,6})\s*(s|secs?|seconds?|m|mins?|minutes?|h|hours?|hrs?)\b/i;

/** The delay in a reply, in seconds: "try again in 300 seconds", "greylisted for 5 minutes". */
export function requestedDelaySeconds(text: string): number | undefined {
  const [, number, unit] = delayHint.exec(text.slice(0, 1_000)) ?? [];
  if (number === undefined || unit === undefined) return undefined;
  return Number(number) * units[unit[0]!.toLowerCase()]!;
}

/**
 * Seconds until the next attempt. `tries` counts earlier deferrals; `random` (0 to 1) adds 10 % jitter either way. A delay that the server asks for
 * is granted with 5 to 15 s more, from 30 s up to our own longest delay.
 */
export function retryDelaySeconds(tries: number, random: number, text = ''): number {
  const asked = requestedDelaySeconds(text);
  const planned = schedule[Math.min(Math.max(0, Math.floor(tries)), schedule.length - 1)]! * (0.9 + 0.2 * random);
  if (asked === undefined) return Math.round(planned);
  return Math.round(Math.min(maxDelaySeconds, Math.max(30, asked + 5 + 10 * random)));
}

/** Backoff of a site after consecutive connection failures: 1 minute, doubling to 30 minutes. */
export function siteBackoffSeconds(failures: number, random: number): number {
  const base = Math.min(minutes(30), minutes(1) * 2 ** Math.min(10, Math.max(0, failures - 1)));
  return Math.round(base * (0.9 + 0.2 * random));
}
