import type { Target } from '../../clients/process/dial.ts';
import { askReady } from './ready.ts';

/** A request that an apiserver has. */
export interface Underway {
  isLong: boolean;
  cut?: () => void;
}

/** The apiservers of a cluster that requests go to, in turn, and what each of them has under way. One that is left out stays known, and gets
 *  no request: its program is gone, or another one listens at its port that has not made its roles yet. */
export interface Targets {
  next(): Target | undefined;
  /** A request met a broken connection. Whether the apiserver is ready is asked at once. Until it says so it is left out: if it cannot be
   *  reached at all, or if another one is there. */
  doubt(target: Target, isUnreachable: boolean): void;
  leaveOut(target: Target): void;
  /** It says that it is ready. */
  takeBack(target: Target): void;
  enter(target: Target, underway: Underway): () => void;
  /** From now on new requests go to these. */
  switchTo(targets: readonly Target[]): void;
  current(): readonly Target[];
  /** Waits until those that are not long have their answers; false: the time was up. */
  drain(target: Target, withinMs: number): Promise<boolean>;
  /** Ends what it has left, and its connections. */
  close(target: Target): void;
}

const probeMs = 5_000;
const isReadyNow = async (target: Target) => (await askReady(target, probeMs)).isReady;

export function makeTargets(isReady: (target: Target) => Promise<boolean> = isReadyNow): Targets {
  let current: readonly Target[] = [];
  const out = new Set<Target>();
  const probing = new Set<Target>();
  const usable = () => (out.size === 0 ? current : current.filter((target) => !out.has(target)));
  let turn = 0;
  const underway = new Map<Target, Set<Underway>>();
  const waiting = new Map<Target, () => void>();
  const isBusy = (target: Target) => [...(underway.get(target) ?? [])].some(({ isLong }) => !isLong);

  return {
    next: () => {
      const among = usable();
      return among[turn++ % Math.max(1, among.length)];
    },
    doubt(target, isUnreachable) {
      if (!current.includes(target)) return;
      if (isUnreachable || usable().some((other) => other !== target)) out.add(target);
      if (probing.has(target)) return;
      probing.add(target);
      const judge = (ready: boolean) => {
        probing.delete(target);
        if (ready) out.delete(target);
        else if (current.includes(target)) out.add(target);
      };
      void isReady(target).then(judge, () => judge(false));
    },
    leaveOut: (target) => void out.add(target),
    takeBack: (target) => void out.delete(target),
    current: () => current,
    switchTo: (targets) => {
      current = targets;
      for (const target of out) if (!targets.includes(target)) out.delete(target);
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
