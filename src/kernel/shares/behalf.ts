import { AsyncLocalStorage } from 'node:async_hooks';
import type { LoopWatch } from './loop-watch.ts';

/** For whom something is done, and what: it decides whose share of what runs out is used, and whose name stands in the metrics. */
export interface Behalf {
  /** An organization's id; '' for work of the house itself. */
  readonly org: string;
  /** An operation's id, a plane's name, a job's kind or a task's name. */
  readonly act: string;
  /** No organization: an address, the probers, the house. Nobody rests for its sake, and it never rests. */
  readonly isAside?: boolean;
  /** It never rests, however much of the event loop its organization has had: pages on their way out, and what acknowledges them. */
  readonly isUrgent?: boolean;
  /** Of what is done for several at once: each one's part of the time that it takes. */
  readonly parts?: ReadonlyMap<string, number>;
}

/**
 * Carried along by Node instead of being handed down: some hundred functions lead from a request to a statement, and one that forgot to
 * pass it on would be a hole that nobody sees (docs/decisions/0014).
 */
const behalves = new AsyncLocalStorage<{ behalf: Behalf; watch: LoopWatch | undefined }>();

/** Whatever is not done for anybody: starting, watching, and what tests do themselves. */
export const house: Behalf = { org: '', act: 'house', isAside: true };

/**
 * A batch that holds a thing of each of these; who has several in it is named as often. It waits for nothing in anybody's name, since whoever
 * has used their share up must not keep the others' from being done. But the event loop's time is theirs whose things it holds.
 */
export function together(act: string, orgs: readonly string[]): Behalf {
  const parts = new Map<string, number>();
  for (const org of orgs) parts.set(org, (parts.get(org) ?? 0) + 1 / orgs.length);
  return { ...house, act, parts };
}

export const currentBehalf = (): Behalf => behalves.getStore()?.behalf ?? house;

/** Does the work for somebody: everything that it begins counts for them, also after it has waited. */
export function onBehalf<T>(behalf: Behalf, work: () => T, watch?: LoopWatch): T {
  return behalves.run({ behalf, watch: watch ?? behalves.getStore()?.watch }, () => {
    watch?.resume(behalf);
    return work();
  });
}

/** The rest of this work is somebody else's: it has turned out who asks. What the caller of this work does afterwards is not. */
export function becomeBehalf(behalf: Behalf): void {
  const watch = behalves.getStore()?.watch;
  behalves.enterWith({ behalf, watch });
  watch?.resume(behalf);
}

/** Does one piece of work after the other for somebody, like `onBehalf`; but what carries them along is made once for all of them. */
export function keepBehalf(behalf: Behalf): <Args extends unknown[], T>(work: (...args: Args) => T, ...args: Args) => T {
  return onBehalf(behalf, () => AsyncLocalStorage.snapshot());
}

/** For whoever goes on with long work after having waited for something else than the database: from here on the loop's time is theirs again. */
export function goOn(): void {
  const doing = behalves.getStore();
  doing?.watch?.resume(doing.behalf);
}

/** Whether the loop has much to do at this moment; it has not where nobody watches it. */
export const isLoopBusy = (): boolean => behalves.getStore()?.watch?.isBusy() ?? false;
