/**
 * Fairness: the shared resources of one process, and how much of each one tenant gets. docs/areas/kernel.md lists the bounds.
 *
 * Actors. Every request, job and plane runs in a `WorkContext` (tenant, operation), carried by AsyncLocalStorage. Resources that run out:
 * - the event loop: `LoopWatch` charges each piece of work to its context; `LoopThrottle` delays tenants that use more than their share;
 * - slots (database connections, requests, disk syncs): `FairSemaphore`, round-robin between tenants, with a lower limit while others wait;
 * - memory for bodies: `ByteBudget`, by organization, credential and address;
 * - connections: `KeyedLimit`, by key and in total.
 *
 * Flow. `runFor(context, work)` → `watch.takeTurn()` (may delay) → `semaphore.acquire()` (may wait, or refuse with `TenantThrottled`) → work →
 * `release()`. Refusals are counted in `Refusals` and reach the caller as 429 or 503 with Retry-After.
 *
 * System contexts (addresses, probers, the server) are never throttled by tenants. Urgent work (pages, acknowledgements) is never delayed.
 * All state is in memory: after a crash every tenant starts with an empty account.
 */

export { type ByteBudget, type ByteReservation, type Holders, makeByteBudget } from './byte-budget.ts';
export { type FairSemaphore, makeFairSemaphore, TenantThrottled } from './fair-semaphore.ts';
export { type KeyedLimit, makeKeyedLimit } from './keyed-limit.ts';
export { type LoopLoad, watchLoop } from './loop-load.ts';
export { type LoopThrottle, makeLoopThrottle } from './loop-throttle.ts';
export { makeLoopWatch } from './loop-watch.ts';
export { makeRefusals, type Refusals } from './refusals.ts';
export { RoundRobinQueue } from './round-robin-queue.ts';
export type { LoopWatch, WorkContext } from './types.ts';
export {
  batchContext,
  bindContext,
  currentContext,
  isLoopBusy,
  resume,
  runFor,
  switchContext,
  systemContext,
} from './work-context.ts';
