import type { Target } from '../../clients/process/dial.ts';

/** A request that an apiserver has. */
export interface Underway {
  isLong: boolean;
  cut?: () => void;
}

/** The apiservers of a cluster that requests go to, in turn, and what each of them has under way. */
export interface Targets {
  next(): Target | undefined;
  enter(target: Target, underway: Underway): () => void;
  /** From now on new requests go to these. */
  switchTo(targets: readonly Target[]): void;
  current(): readonly Target[];
  /** Waits until those that are not long have their answers; false: the time was up. */
  drain(target: Target, withinMs: number): Promise<boolean>;
  /** Ends what it has left, and its connections. */
  close(target: Target): void;
}

export function makeTargets(): Targets {
  let current: readonly Target[] = [];
  let turn = 0;
  const underway = new Map<Target, Set<Underway>>();
  const waiting = new Map<Target, () => void>();
  const isBusy = (target: Target) => [...(underway.get(target) ?? [])].some(({ isLong }) => !isLong);

  return {
    next: () => current[turn++ % Math.max(1, current.length)],
    current: () => current,
    switchTo: (targets) => {
      current = targets;
    },
    enter(target, one) {
      const all = underway.get(target) ?? new Set();
      underway.set(target, all.add(one));
      return () => {
        all.delete(one);
        if (!isBusy(target)) waiting.get(target)?.();
      };
    },
    async drain(target, withinMs) {
      if (!isBusy(target)) return true;
      const { promise, resolve } = Promise.withResolvers<boolean>();
      const timer = setTimeout(resolve, withinMs, false);
      waiting.set(target, () => resolve(true));
      return promise.finally(() => {
        clearTimeout(timer);
        waiting.delete(target);
      });
    },
    close(target) {
      for (const { cut } of underway.get(target) ?? []) cut?.();
      underway.delete(target);
      target.close();
    },
  };
}
