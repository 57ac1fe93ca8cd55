import type { Target } from '../../clients/process/dial.ts';
import { probeReady } from './readiness.ts';

/** A request that an apiserver has. */
export interface InflightRequest {
  isLongRunning: boolean;
  abort?: () => void;
}

/** The apiservers of a cluster that requests go to, in turn, and what each of them has under way. One that is left out stays known, and gets
 *  no request: its program is gone, or another one listens at its port that has not made its roles yet. */
export interface TargetPool {
  next(): Target | undefined;
  /** A request met a broken connection. Whether the apiserver is ready is asked at once. Until it says so it is left out: if it cannot be
   *  reached at all, or if another one is there. */
  reportFailure(target: Target, isUnreachable: boolean): void;
  exclude(target: Target): void;
  /** It says that it is ready. */
  include(target: Target): void;
  begin(target: Target, underway: InflightRequest): () => void;
  /** From now on new requests go to these. */
  switchTo(targets: readonly Target[]): void;
  current(): readonly Target[];
  /** Waits until those that are not long have their answers; false: the time was up. */
  drain(target: Target, withinMs: number): Promise<boolean>;
  /** Ends what it has left, and its connections. */
  close(target: Target): void;
}

const probeTimeoutMs = 5_000;
const isReadyNow = async (target: Target) => (await probeReady(target, probeTimeoutMs)).isReady;

export function makeTargetPool(isReady: (target: Target) => Promise<boolean> = isReadyNow): TargetPool {
  let current: readonly Target[] = [];
  const out = new Set<Target>();
  const probing = new Set<Target>();
  const usable = () => (out.size === 0 ? current : current.filter((target) => !out.has(target)));
  let turn = 0;
  const underway = new Map<Target, Set<InflightRequest>>();
  const waiting = new Map<Target, () => void>();
  const isBusy = (target: Target) => [...(underway.get(target) ?? [])].some(({ isLongRunning }) => !isLongRunning);

  return {
    next: () => {
      const among = usable();
      return among[turn++ % Math.max(1, among.length)];
    },
    reportFailure(target, isUnreachable) {
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
    exclude: (target) => void out.add(target),
    include: (target) => void out.delete(target),
    current: () => current,
    switchTo: (targets) => {
      current = targets;
      for (const target of out) if (!targets.includes(target)) out.delete(target);
    },
    begin(target, one) {
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
      for (const { abort } of underway.get(target) ?? []) abort?.();
      underway.delete(target);
      target.close();
    },
  };
}
