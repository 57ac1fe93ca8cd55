import { type Company, makeCompany } from './company.ts';

/** Somebody waited too long, or too many of theirs wait already: their own doing, so it is they who are told. */
export class Crowded extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'Crowded';
  }
}

export interface TurnstileOptions {
  /** How many are inside at once. */
  slots: number;
  /** How many of one organization are. The rest of the slots is there for the others, whatever this one does. */
  perOrg: number;
  /** How many of one organization come in beside others who have had less lately. Default: as many as else. */
  besides?: number;
  /** How many of one organization wait. */
  mostWaiting?: number;
  waitMs?: number;
  /** Told of everybody who waited in vain. */
  refused?: (org: string) => void;
  now?: () => number;
}

/** Lets a bounded number in, the organizations in turn; within one, first come, first served. */
export interface Turnstile {
  /** Undefined: come in. Else wait for it; it rejects with `Crowded`. Whoever came in must `leave`. What is aside is no organization: nobody
   *  has less for its sake, nor it for theirs. Whoever is urgent waits before all others of their organization, however many those are. */
  enter(org: string, isAside?: boolean, isUrgent?: boolean): Promise<void> | undefined;
  /** Comes in if there is room, and does not wait else. */
  enterAtOnce(org: string, isAside?: boolean): boolean;
  leave(org: string): void;
  /** Does something inside. */
  pass<T>(org: string, work: () => Promise<T>): Promise<T>;
  /** What each organization has inside and waiting at this moment, for the metrics. */
  figures(): { org: string; inside: number; waiting: number }[];
}

interface Waiter {
  isUrgent: boolean;
  letIn(): void;
}

interface Queue {
  isAside: boolean;
  inside: number;
  waiting: Waiter[];
}

interface State extends Required<Omit<TurnstileOptions, 'now'>> {
  company: Company;
  inside: number;
  queues: Map<string, Queue>;
  /** Those who wait, in the order of their turns: whoever was let in goes to the end. */
  turns: Set<string>;
  /** Those who wait beside others are looked at again: they may have more once the others have gone, and nobody leaves then. */
  looking: NodeJS.Timeout | undefined;
}

const lookAgainMs = 100;

export function makeTurnstile(options: TurnstileOptions): Turnstile {
  const { slots, perOrg, besides = perOrg, mostWaiting = 500, waitMs = 2_000, refused = () => {} } = options;
  const limits = { slots, perOrg, besides, mostWaiting, waitMs, refused };
  const state: State = { ...limits, company: makeCompany(options.now), inside: 0, queues: new Map(), turns: new Set(), looking: undefined };
  return {
    enter: (org, isAside, isUrgent) => enter(state, org, isAside, isUrgent),
    enterAtOnce: (org, isAside) => enterAtOnce(state, org, isAside),
    leave: (org) => leave(state, org),
    pass: async (org, work) => {
      const turn = enter(state, org);
      if (turn) await turn;
      try {
        return await work();
      } finally {
        leave(state, org);
      }
    },
    figures: () => [...state.queues].map(([org, queue]) => ({ org, inside: queue.inside, waiting: queue.waiting.length })),
  };
}

function enter(state: State, org: string, isAside = false, isUrgent = false): Promise<void> | undefined {
  const queue = queueOf(state, org, isAside);
  // They came first, and may have more by now.
  if (state.besides !== state.perOrg && queue.waiting.length > 0 && (!isUrgent || queue.waiting[0]!.isUrgent)) letNextIn(state);
  if (comeIn(state, org, queue)) return undefined;
  if (queue.waiting.length >= state.mostWaiting && !isUrgent) {
    state.refused(org);
    return Promise.reject(new Crowded(`${state.mostWaiting} of this organization wait already`));
  }
  return waitIn(state, org, queue, isUrgent);
}

function enterAtOnce(state: State, org: string, isAside = false): boolean {
  const queue = queueOf(state, org, isAside);
  const isIn = comeIn(state, org, queue);
  if (!isIn) tidy(state, org, queue);
  return isIn;
}

function comeIn(state: State, org: string, queue: Queue): boolean {
  const hasRoom = state.inside < state.slots && queue.inside < capOf(state, org, queue);
  if (hasRoom) count(state, org, queue, 1);
  return hasRoom;
}

const capOf = ({ company, perOrg, besides }: State, org: string, { isAside }: Queue) =>
  besides === perOrg || isAside || company.hasLeast(org) ? perOrg : besides;

function count(state: State, org: string, queue: Queue, change: 1 | -1): void {
  queue.inside += change;
  state.inside += change;
  if (state.besides !== state.perOrg && !queue.isAside) state.company.note(org, queue.inside);
}

function leave(state: State, org: string): void {
  const queue = state.queues.get(org)!;
  count(state, org, queue, -1);
  letNextIn(state);
  tidy(state, org, queue);
}

function letNextIn(state: State): void {
  for (const org of state.turns) {
    if (state.inside >= state.slots) return;
    const queue = state.queues.get(org)!;
    if (queue.inside >= capOf(state, org, queue)) continue;
    count(state, org, queue, 1);
    state.turns.delete(org);
    const next = queue.waiting.shift()!;
    if (queue.waiting.length > 0) state.turns.add(org); // visited once more in this walk, after all the others
    next.letIn();
  }
}

const waitIn = (state: State, org: string, queue: Queue, isUrgent: boolean) =>
  new Promise<void>((resolve, reject) => {
    const waiter: Waiter = {
      isUrgent,
      letIn: () => {
        clearTimeout(timer);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      queue.waiting.splice(queue.waiting.indexOf(waiter), 1);
      tidy(state, org, queue);
      state.refused(org);
      reject(new Crowded(`no turn came within ${state.waitMs / 1000} s`));
    }, state.waitMs);
    const behind = isUrgent ? queue.waiting.findIndex((other) => !other.isUrgent) : -1;
    queue.waiting.splice(behind < 0 ? queue.waiting.length : behind, 0, waiter);
    state.turns.add(org);
    lookAgain(state);
  });

function lookAgain(state: State): void {
  if (state.besides === state.perOrg || state.looking || state.turns.size === 0) return;
  state.looking = setTimeout(() => {
    state.looking = undefined;
    letNextIn(state);
    lookAgain(state);
  }, lookAgainMs).unref();
}

function queueOf({ queues }: State, org: string, isAside: boolean): Queue {
  let queue = queues.get(org);
  if (!queue) {
    queue = { isAside, inside: 0, waiting: [] };
    queues.set(org, queue);
  }
  return queue;
}

function tidy({ queues, turns }: State, org: string, queue: Queue): void {
  if (queue.waiting.length === 0) turns.delete(org);
  if (queue.inside === 0 && queue.waiting.length === 0) queues.delete(org);
}
