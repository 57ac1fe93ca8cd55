import { randomInt } from 'node:crypto';

/** Concurrent deliveries per endpoint: four at first, doubled by each quick answer, halved by each slow one. */
const initialConcurrency = 4;
const maxConcurrency = 16;
const minConcurrency = 2;
/** Answers below this are quick. A delivery also waits at most this long for a slot. */
const quickMs = 1_000;
/** An endpoint without any answer for this long, while requests are open, hangs. */
const hangingAfterMs = 3_000;
/** Longest postponement, however many deliveries wait. */
const maxPostponeMs = 600_000;
export const maxPostponeSeconds = maxPostponeMs / 1_000;
const maxEndpoints = 10_000;

interface EndpointState {
  running: number;
  /** Start times of the open requests, oldest first. */
  startedAt: number[];
  maxConcurrent: number;
  /** Duration and time of the last answer. */
  lastMs: number;
  answeredAt: number;
  waiting: (() => void)[];
  /** Slots up to this time are promised to postponed deliveries. */
  bookedUntil: number;
}

export interface EndpointLimiter {
  /** A slot at this endpoint, or a postponement. */
  acquire(endpoint: string): Promise<DeliverySlot | Postponement>;
  /** `others` more deliveries were postponed in the database. */
  notePostponed(endpoint: string, others: number): void;
}

export interface DeliverySlot {
  /** Runs the request. Only this counts as the endpoint's time. */
  measure<T>(request: () => Promise<T>): Promise<T>;
  release(): void;
}

export interface Postponement {
  retryInSeconds: number;
  /** The endpoint does not answer: its other waiting deliveries need not be tried. */
  isHanging: boolean;
  /** Spacing between the retries of the endpoint's other deliveries. */
  spacingSeconds: number;
}

export interface EndpointLimiterOptions {
  clock?: () => number;
  random?: () => number;
}

/**
 * Deliveries of one organization share the job lane's slots, and a hanging endpoint would take them all. So a delivery without a slot at its
 * endpoint within a second goes back to the job queue, for a later time.
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

/** False: timeout. */
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

/** Evicts the endpoint that was idle the longest. */
function evictIdle(endpoints: Map<string, EndpointState>): void {
  for (const [id, { running, waiting }] of endpoints)
    if (running === 0 && waiting.length === 0) {
      endpoints.delete(id);
      return;
    }
}
