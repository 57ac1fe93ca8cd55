import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { App } from '../kernel/app.ts';
import { boundedTo } from '../kernel/bounded-map.ts';
import { Refusal } from '../kernel/errors.ts';
import { rateLimit } from './rate-limit.ts';

/** Wrong secrets a minute from one place before it is made to wait. */
const failuresPerMinute = 60;
/** Lookups of one place that may wait for others of it. */
const maxWaitingLookups = 2_000;
/** How a lookup refuses a wrong secret: not good, not there, or not to be judged because its issuer is away. */
const wrongSecretStatuses: ReadonlySet<number> = new Set([401, 404, 502]);

/**
 * Guesses at one kind of secret, counted by where they come from (see kernel/http/peer.ts). A lookup is counted before it is made, so that
 * many guesses at once cost no more statements than many in a row; a right secret is never counted.
 */
export interface Attempts {
  /**
   * Looks a secret up, unless its place has been wrong too often: then it is refused without looking. A lookup says that it was wrong with
   * undefined, or with a refusal such as 401. `secret` names it among all others: one that was right before is no guess, and is looked up
   * whatever its neighbours do.
   */
  look<T extends {}>(request: IncomingMessage, secret: string | undefined, lookup: () => Promise<T | undefined>): Promise<T | undefined>;
  /** Counts a secret that was seen to be wrong without looking. Throws once there were too many. */
  failed(request: IncomingMessage): void;
  /** Counts something else that came to nothing. */
  count(request: IncomingMessage): void;
  /** Throws while there were too many. */
  refuseWhileTooMany(request: IncomingMessage): void;
}

/** `refuse` is what is said to whoever has to wait for so many seconds. */
export function makeAttempts(app: App, refuse: (seconds: number) => Refusal = tooManyFailures): Attempts {
  const { peers } = app;
  const limit = rateLimit(failuresPerMinute);
  const queue = makeLookupQueue((address) => limit.left(address));
  const right = new LRUCache<string, true>(boundedTo(50_000));
  const refuseWhileTooMany = (address: string) => {
    const seconds = limit.wait(address);
    if (seconds) throw refuse(seconds);
  };

  const guess = async <T extends {}>(address: string, lookup: () => Promise<T | undefined>): Promise<T | undefined> => {
    if (!(await queue.turn(address))) throw refuse(1);
    try {
      refuseWhileTooMany(address);
      const found = await lookup().catch((error) => {
        if (error instanceof Refusal && wrongSecretStatuses.has(error.status)) limit.take(address);
        throw error;
      });
      if (found === undefined) limit.take(address);
      return found;
    } finally {
      queue.leave(address); // after it was counted: whoever waits is judged by it
    }
  };

  return {
    look: async (request, secret, lookup) => {
      const address = peers.of(request);
      const known = secret !== undefined && right.has(secret);
      const found = known ? await lookup() : await guess(address, lookup);
      if (secret === undefined) return found;
      if (found !== undefined) right.set(secret, true);
      else if (right.delete(secret)) limit.take(address);
      return found;
    },
    failed: (request) => {
      const { allowed, resetSeconds } = limit.take(peers.of(request));
      if (!allowed) throw refuse(resetSeconds);
    },
    count: (request) => void limit.take(peers.of(request)),
    refuseWhileTooMany: (request) => refuseWhileTooMany(peers.of(request)),
  };
}

const tooManyFailures = (seconds: number) => tooMany('too many failed authentications from this address', seconds);

export const tooMany = (what: string, seconds: number) =>
  new Refusal(429, 'rate_limited', `${what}; try again in ${seconds} s`, { headers: { 'retry-after': String(seconds) } });

interface PendingLookups {
  busy: number;
  waiting: (() => void)[];
}

/**
 * No more lookups at once for a place than it may still get wrong; the others wait until it is known how those went. Refusing them at once
 * would hit many good keys that come together for the first time, such as after a restart.
 */
function makeLookupQueue(left: (address: string) => number) {
  const pendingByAddress = new Map<string, PendingLookups>();
  return {
    /** False: so many wait that there is no room for one more. */
    turn: async (name: string): Promise<boolean> => {
      const pending = pendingByAddress.get(name) ?? { busy: 0, waiting: [] };
      if (pending.waiting.length >= maxWaitingLookups) return false;
      pendingByAddress.set(name, pending);
      if (pending.busy === 0 || pending.busy < left(name)) pending.busy++;
      else await new Promise<void>((resolve) => pending.waiting.push(resolve));
      return true;
    },
    leave: (name: string): void => {
      const pending = pendingByAddress.get(name)!;
      pending.busy--;
      // One at least: alone, it learns that it has to be refused, and the next follows when it leaves.
      while (pending.waiting.length && (pending.busy === 0 || pending.busy < left(name))) {
        pending.busy++;
        pending.waiting.shift()!();
      }
      if (pending.busy === 0) pendingByAddress.delete(name);
    },
  };
}
