// A virtual machine's host gives its processors to others whenever it likes. What is measured while it does says nothing of the server.
import { readFileSync } from 'node:fs';

/** Looked at so often: the kernel counts in hundredths of a second. */
const everyMs = 200;
/** Of the processors' time. */
const mostStolen = 0.05;

export interface Calm {
  /** Whether the machine was all ours, as far as is known by now. */
  during(from: number, until: number): boolean;
  /** For how many milliseconds since then. */
  since(from: number): number;
  stop(): void;
}

/** Times are those of performance.now(). */
export function watchCalm(): Calm {
  const stolen: { from: number; until: number }[] = [];
  let before = { at: performance.now(), ...counted() };
  const look = () => {
    const now = { at: performance.now(), ...counted() };
    const passed = now.all - before.all;
    if (passed > 0 && (now.stolen - before.stolen) / passed > mostStolen) stolen.push({ from: before.at, until: now.at });
    before = now;
  };
  const timer = setInterval(look, everyMs);
  return {
    during: (from, until) => !stolen.some((s) => s.from < until && s.until > from),
    since: (from) => performance.now() - from - stolen.reduce((sum, s) => sum + Math.max(0, s.until - Math.max(s.from, from)), 0),
    stop: () => clearInterval(timer),
  };
}

/** Hundredths of a second of all processors. Where the system does not count them, nothing is ever stolen. */
function counted(): { all: number; stolen: number } {
  try {
    const [, ...times] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]!.trim().split(/\s+/).map(Number);
    // user, nice, system, idle, iowait, irq, softirq, steal; what guests use is in the first two already.
    return { all: times.slice(0, 8).reduce((sum, n) => sum + n, 0), stolen: times[7] ?? 0 };
  } catch {
    return { all: 0, stolen: 0 };
  }
}
