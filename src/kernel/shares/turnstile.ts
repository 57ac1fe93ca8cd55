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
  /** How many of one organization wait. */
  mostWaiting?: number;
  waitMs?: number;
}

/** Lets a bounded number in, the organizations in turn; within one, first come, first served. */
export interface Turnstile {
  /** Undefined: come in. Else wait for it; it rejects with `Crowded`. Whoever came in must `leave`. */
  enter(org: string): Promise<void> | undefined;
  leave(org: string): void;
  /** Does something inside. */
  pass<T>(org: string, work: () => Promise<T>): Promise<T>;
  /** What each organization has inside and waiting at this moment, for the metrics. */
  figures(): { org: string; inside: number; waiting: number }[];
}

interface Waiter {
  letIn(): void;
}

interface Queue {
  inside: number;
  waiting: Waiter[];
}

export function makeTurnstile({ slots, perOrg, mostWaiting = 500, waitMs = 2_000 }: TurnstileOptions): Turnstile {
  const queues = new Map<string, Queue>();
  /** Those who wait, in the order of their turns: whoever was let in goes to the end. */
  const turns = new Set<string>();
  let inside = 0;

  const queueOf = (org: string): Queue => {
    let queue = queues.get(org);
    if (!queue) {
      queue = { inside: 0, waiting: [] };
      queues.set(org, queue);
    }
    return queue;
  };
  const tidy = (org: string, queue: Queue) => {
    if (queue.waiting.length === 0) turns.delete(org);
    if (queue.inside === 0 && queue.waiting.length === 0) queues.delete(org);
  };

  const letNextIn = () => {
    for (const org of turns) {
      if (inside >= slots) return;
      const queue = queues.get(org)!;
      if (queue.inside >= perOrg) continue;
      queue.inside++;
      inside++;
      turns.delete(org);
      const next = queue.waiting.shift()!;
      if (queue.waiting.length > 0) turns.add(org); // visited once more in this walk, after all the others
      next.letIn();
    }
  };

  const wait = (org: string, queue: Queue) =>
    new Promise<void>((resolve, reject) => {
      const waiter: Waiter = {
        letIn: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        queue.waiting.splice(queue.waiting.indexOf(waiter), 1);
        tidy(org, queue);
        reject(new Crowded(`no turn came within ${waitMs / 1000} s`));
      }, waitMs);
      queue.waiting.push(waiter);
      turns.add(org);
    });

  const enter: Turnstile['enter'] = (org) => {
    const queue = queueOf(org);
    if (inside < slots && queue.inside < perOrg) {
      queue.inside++;
      inside++;
      return undefined;
    }
    if (queue.waiting.length >= mostWaiting) return Promise.reject(new Crowded(`${mostWaiting} of this organization wait already`));
    return wait(org, queue);
  };
  const leave: Turnstile['leave'] = (org) => {
    const queue = queues.get(org)!;
    queue.inside--;
    inside--;
    letNextIn();
    tidy(org, queue);
  };

  return {
    enter,
    leave,
    pass: async (org, work) => {
      const turn = enter(org);
      if (turn) await turn;
      try {
        return await work();
      } finally {
        leave(org);
      }
    },
    figures: () => [...queues].map(([org, queue]) => ({ org, inside: queue.inside, waiting: queue.waiting.length })),
  };
}
