import { randomInt } from 'node:crypto';

/** How many deliveries an endpoint is given at once: few until it is known, more while it is quick, and next to none while it hangs. */
const first = 4;
const most = 16;
const least = 2;
/** Quicker than this is quick; and so long somebody waits here for a place. */
const quickMs = 1_000;
/** Of whom nothing is heard for so long while it is asked, hangs. */
const hangsMs = 3_000;
/** An endpoint that hangs is not asked for longer than this, however much waits for it. */
const longestMs = 600_000;
export const longestSeconds = longestMs / 1_000;
const mostKnown = 10_000;

interface Known {
  running: number;
  /** When each of those that run was asked, the oldest first. */
  asked: number[];
  most: number;
  /** How long the last one took to answer, and when it did. */
  lastMs: number;
  answeredAt: number;
  waiting: (() => void)[];
  /** Up to when places are given away to those that were sent off. */
  givenUntil: number;
}

export interface Pace {
  /** A place at this endpoint. Or, in how many seconds to come back. */
  take(endpoint: string): Promise<Place | SentOff>;
  /** So many others were sent off behind it. */
  sentOff(endpoint: string, others: number): void;
}

export interface Place {
  /** Asks the endpoint: only this counts as its time, not what we take before and after it. */
  ask<T>(request: () => Promise<T>): Promise<T>;
  /** Gives the place back. */
  end(): void;
}

export interface SentOff {
  inSeconds: number;
  /** Nothing is heard of it: no other one that waits for it needs to be tried. */
  hangs: boolean;
  /** So much later each other one that waits for the endpoint comes back. */
  eachSeconds: number;
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
    const known = endpoints.get(id) ?? { running: 0, asked: [], most: first, lastMs: 0, answeredAt: 0, waiting: [], givenUntil: 0 };
    endpoints.delete(id);
    endpoints.set(id, known);
    if (endpoints.size > mostKnown) forgetIdle(endpoints);
    return known;
  };
  const begin = (known: Known): Place => {
    known.running++;
    return {
      ask: async (request) => {
        const at = clock();
        known.asked.push(at);
        return request().finally(() => noteAnswer(known, at, clock()));
      },
      end: () => {
        known.running--;
        for (let room = known.most - known.running; room > 0 && known.waiting.length > 0; room--) known.waiting.shift()!();
      },
    };
  };
  const silentMs = ({ asked, answeredAt }: Known) => (asked.length ? clock() - Math.max(asked[0]!, answeredAt) : 0);
  const hangs = (known: Known) => known.lastMs >= hangsMs || silentMs(known) >= hangsMs;
  const sendOff = (known: Known, count: number): SentOff => {
    const now = clock();
    const each = Math.max(quickMs, known.lastMs, now - (known.asked[0] ?? now)) / known.most;
    known.givenUntil = Math.min(Math.max(now, known.givenUntil) + count * each, now + longestMs);
    return { inSeconds: ((known.givenUntil - now) / 1_000) * (1 + 0.2 * random()), eachSeconds: each / 1_000, hangs: hangs(known) };
  };
  return {
    async take(id) {
      const known = find(id);
      if (known.running < known.most && known.waiting.length === 0) return begin(known);
      if (hangs(known) || !(await waitForPlace(known))) return sendOff(known, 1);
      return begin(known);
    },
    sentOff: (id, others) => void sendOff(find(id), others),
  };
}

function noteAnswer(known: Known, askedAt: number, now: number): void {
  known.asked.splice(known.asked.indexOf(askedAt), 1);
  known.lastMs = now - askedAt;
  known.answeredAt = now;
  if (known.lastMs >= quickMs) known.most = Math.max(least, Math.floor(known.most / 2));
  else {
    known.most = Math.min(most, known.most * 2);
    known.givenUntil = 0;
  }
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
