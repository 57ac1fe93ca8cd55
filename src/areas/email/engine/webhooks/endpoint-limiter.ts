import { randomInt } from 'node:crypto';

/** How many deliveries an endpoint is given at once: few until it is known, more while it is quick, and next to none while it hangs. */
const initialConcurrency = 4;
const maxConcurrency = 16;
const minConcurrency = 2;
/** Quicker than this is quick; and so long somebody waits here for a place. */
const quickMs = 1_000;
/** Of whom nothing is heard for so long while it is asked, hangs. */
const hangingAfterMs = 3_000;
/** An endpoint that hangs is not asked for longer than this, however much waits for it. */
const maxPostponeMs = 600_000;
export const maxPostponeSeconds = maxPostponeMs / 1_000;
const maxEndpoints = 10_000;

interface EndpointState {
  running: number;
  /** When each of those that run was asked, the oldest first. */
  startedAt: number[];
  maxConcurrent: number;
  /** How long the last one took to answer, and when it did. */
  lastMs: number;
  answeredAt: number;
  waiting: (() => void)[];
  /** Up to when places are given away to those that were sent off. */
  bookedUntil: number;
}

export interface EndpointLimiter {
  /** A place at this endpoint. Or, in how many seconds to come back. */
  acquire(endpoint: string): Promise<DeliverySlot | Postponement>;
  /** So many others were sent off behind it. */
  notePostponed(endpoint: string, others: number): void;
}

export interface DeliverySlot {
  /** Asks the endpoint: only this counts as its time, not what we take before and after it. */
  measure<T>(request: () => Promise<T>): Promise<T>;
  /** Gives the place back. */
  release(): void;
}

export interface Postponement {
  retryInSeconds: number;
  /** Nothing is heard of it: no other one that waits for it needs to be tried. */
  isHanging: boolean;
  /** So much later each other one that waits for the endpoint comes back. */
  spacingSeconds: number;
}

export interface EndpointLimiterOptions {
  clock?: () => number;
  random?: () => number;
}

/**
 * Deliveries of one organization share the lane's slots. An endpoint that hangs would take them all from the organization's others,
 * so what finds no place there within a second goes back to the queue, for its own turn later.
 */
export function makeEndpointLimiter({
  clock = () => performance.now(),
  random = () => randomInt(2 ** 20) / 2 ** 20,
}: EndpointLimiterOptions = {}): EndpointLimiter {
  const endpoints = new Map<string, EndpointState>();

  const stateOf = (id: string): EndpointState => {
    const state = endpoints.get(id) ?? {
      running: 0,
      startedAt: [],
      maxConcurrent: initialConcurrency,
      lastMs: 0,
      answeredAt: 0,
      waiting: [],
      bookedUntil: 0,
    };
    endpoints.delete(id);
    endpoints.set(id, state);
    if (endpoints.size > maxEndpoints) evictIdle(endpoints);
    return state;
  };
  const openSlot = (state: EndpointState): DeliverySlot => {
    state.running++;
    return {
      measure: async (request) => {
        const at = clock();
        state.startedAt.push(at);
        return request().finally(() => noteAnswer(state, at, clock()));
      },
      release: () => {
        state.running--;
        for (let room = state.maxConcurrent - state.running; room > 0 && state.waiting.length > 0; room--) state.waiting.shift()!();
      },
    };
  };
  const silentMs = ({ startedAt, answeredAt }: EndpointState) => (startedAt.length ? clock() - Math.max(startedAt[0]!, answeredAt) : 0);
  const isHanging = (state: EndpointState) => state.lastMs >= hangingAfterMs || silentMs(state) >= hangingAfterMs;
  const postpone = (state: EndpointState, count: number): Postponement => {
    const now = clock();
    const spacingMs = Math.max(quickMs, state.lastMs, now - (state.startedAt[0] ?? now)) / state.maxConcurrent;
    state.bookedUntil = Math.min(Math.max(now, state.bookedUntil) + count * spacingMs, now + maxPostponeMs);
    return {
      retryInSeconds: ((state.bookedUntil - now) / 1_000) * (1 + 0.2 * random()),
      spacingSeconds: spacingMs / 1_000,
      isHanging: isHanging(state),
    };
  };
  return {
    async acquire(id) {
      const state = stateOf(id);
      if (state.running < state.maxConcurrent && state.waiting.length === 0) return openSlot(state);
      if (isHanging(state) || !(await waitForSlot(state))) return postpone(state, 1);
      return openSlot(state);
    },
    notePostponed: (id, others) => void postpone(stateOf(id), others),
  };
}

function noteAnswer(state: EndpointState, askedAt: number, now: number): void {
  state.startedAt.splice(state.startedAt.indexOf(askedAt), 1);
  state.lastMs = now - askedAt;
  state.answeredAt = now;
  if (state.lastMs >= quickMs) state.maxConcurrent = Math.max(minConcurrency, Math.floor(state.maxConcurrent / 2));
  else {
    state.maxConcurrent = Math.min(maxConcurrency, state.maxConcurrent * 2);
    state.bookedUntil = 0;
  }
}

/** False: it took too long. */
const waitForSlot = (state: EndpointState): Promise<boolean> =>
  new Promise((resolve) => {
    const onFree = () => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(() => {
      state.waiting.splice(state.waiting.indexOf(onFree), 1);
      resolve(false);
    }, quickMs);
    state.waiting.push(onFree);
  });

/** The one that was not asked for longest goes first. */
function evictIdle(endpoints: Map<string, EndpointState>): void {
  for (const [id, { running, waiting }] of endpoints)
    if (running === 0 && waiting.length === 0) {
      endpoints.delete(id);
      return;
    }
}
