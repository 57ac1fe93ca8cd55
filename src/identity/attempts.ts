import type { IncomingMessage } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { App } from '../kernel/app.ts';
import { boundedTo } from '../kernel/bounded-map.ts';
import { Refusal } from '../kernel/errors.ts';
import { rateLimit } from './rate-limit.ts';

/** Wrong secrets per minute from one address before it is throttled. */
const failuresPerMinute = 60;
/** Lookups of one address that may be queued. */
const maxWaitingLookups = 2_000;
/** How a lookup refuses a wrong secret: invalid, not found, or not decidable because its issuer is away. */
const wrongSecretStatuses: ReadonlySet<number> = new Set([401, 404, 502]);

/**
 * Throttles guesses at one kind of secret by address (see kernel/http/peer.ts). A lookup is counted before it is made, so that many
 * concurrent guesses cost no more statements than sequential ones. A correct secret is never counted.
 */
export interface Attempts {
  /**
   * Looks a secret up, unless its address has sent too many wrong ones: then it is refused without a lookup. A lookup signals a wrong
   * secret with undefined, or with a refusal such as 401. `secret` identifies it among all others: a secret that was correct before is no
   * guess, and is looked up whatever its neighbours do.
   */
  lookUp<T extends {}>(request: IncomingMessage, secret: string | undefined, lookup: () => Promise<T | undefined>): Promise<T | undefined>;
  /** Counts a secret that is wrong by its form. Throws once there were too many. */
  failed(request: IncomingMessage): void;
  /** Counts another kind of failed request. */
  count(request: IncomingMessage): void;
  /** Throws while there were too many. */
  refuseWhileTooMany(request: IncomingMessage): void;
}

/** `refuse` makes the refusal for a throttled caller, with the seconds to wait. */
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
      queue.leave(address); // after it was counted: queued lookups are judged by the new count
    }
  };

  return {
    lookUp: async (request, secret, lookup) => {
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
 * Runs no more lookups of an address at once than it has failures left; the others wait for their outcome. Refusing them at once would hit
 * many good keys that come together for the first time, such as after a restart.
 */
function makeLookupQueue(left: (address: string) => number) {
  const pendingByAddress = new Map<string, PendingLookups>();
  return {
    /** False: the queue is full. */
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
      // At least one runs: it learns that it has to be refused, and the next follows when it leaves.
      while (pending.waiting.length && (pending.busy === 0 || pending.busy < left(name))) {
        pending.busy++;
        pending.waiting.shift()!();
      }
      if (pending.busy === 0) pendingByAddress.delete(name);
    },
  };
}
