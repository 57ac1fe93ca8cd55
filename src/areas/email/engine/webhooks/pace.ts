import { randomInt } from 'node:crypto';

/** How many deliveries an endpoint is given at once: few until it is known, more while it is quick, and next to none while it hangs. */
const first = 4;
const most = 16;
const least = 2;
/** Quicker than this is quick; and so long somebody waits here for a place. */
const quickMs = 1_000;
/** An endpoint that hangs is not asked for longer than this, however much waits for it. */
const longestMs = 600_000;
const mostKnown = 10_000;

interface Known {
  running: number;
  /** When the oldest of those that run began. */
  begun: number[];
  most: number;
  /** How long the last one took. */
  lastMs: number;
  waiting: (() => void)[];
  /** Up to when places are given away to those that were sent off. */
  givenUntil: number;
}

export interface Pace {
  /** A place at this endpoint: `end` gives it back. Or, in how many seconds to come back. */
  take(endpoint: string): Promise<{ end(): void } | { inSeconds: number }>;
}

export interface PaceOptions {
  clock?: () => number;
  random?: () => number;
}

/**
 * Deliveries of one organization share the lane's slots. An endpoint that hangs would take them all from the organization's others,
 * so what finds no place there within a second goes back to the queue, for its own turn later.
 */
export function makePace({ clock = () => performance.now(), random = () => randomInt(2 ** 20) / 2 ** 20 }: PaceOptions = {}): Pace {
  const endpoints = new Map<string, Known>();

  const find = (id: string): Known => {
    const known = endpoints.get(id) ?? { running: 0, begun: [], most: first, lastMs: 0, waiting: [], givenUntil: 0 };
    endpoints.delete(id);
    endpoints.set(id, known);
    if (endpoints.size > mostKnown) forgetIdle(endpoints);
    return known;
  };
  const begin = (known: Known) => {
    const at = clock();
    known.running++;
    known.begun.push(at);
    return { end: () => endOne(known, at) };
  };
  const endOne = (known: Known, at: number) => {
    known.running--;
    known.begun.splice(known.begun.indexOf(at), 1);
    known.lastMs = clock() - at;
    if (known.lastMs >= quickMs) known.most = Math.max(least, Math.floor(known.most / 2));
    else {
      known.most = Math.min(most, known.most * 2);
      known.givenUntil = 0;
    }
    for (let room = known.most - known.running; room > 0 && known.waiting.length > 0; room--) known.waiting.shift()!();
  };
  const hangs = (known: Known) => known.lastMs >= quickMs || clock() - (known.begun[0] ?? clock()) >= quickMs;
  const sendOff = (known: Known) => {
    const now = clock();
    const each = Math.max(quickMs, known.lastMs, now - (known.begun[0] ?? now)) / known.most;
    known.givenUntil = Math.min(Math.max(now, known.givenUntil) + each, now + longestMs);
    return { inSeconds: ((known.givenUntil - now) / 1_000) * (1 + 0.2 * random()) };
  };
  return {
    async take(id) {
      const known = find(id);
      if (known.running < known.most && known.waiting.length === 0) return begin(known);
      if (hangs(known) || !(await waitForPlace(known))) return sendOff(known);
      return begin(known);
    },
  };
}

/** False: it took too long. */
const waitForPlace = (known: Known): Promise<boolean> =>
  new Promise((resolve) => {
    const called = () => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      known.waiting.splice(known.waiting.indexOf(called), 1);
      resolve(false);
    }, quickMs);
    known.waiting.push(called);
  });

/** The one that was not asked for longest goes first. */
function forgetIdle(endpoints: Map<string, Known>): void {
  for (const [id, { running, waiting }] of endpoints)
    if (running === 0 && waiting.length === 0) {
      endpoints.delete(id);
      return;
    }
}
