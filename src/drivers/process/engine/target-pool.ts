import type { Target } from '../clients/dial.ts';
import { probeReady } from './readiness.ts';

/** A request that an apiserver is working on. */
export interface InflightRequest {
  isLongRunning: boolean;
  abort?: () => void;
}

/** The apiservers of a cluster, used round-robin, and the requests in flight at each. An excluded one stays in the pool without requests: its
 *  program has exited, or a successor listens on its port that has not created its roles yet. */
export interface TargetPool {
  next(): Target | undefined;
  /** Whether `next` has one. */
  hasNext(): boolean;
  /** A request met a broken connection. The apiserver is probed at once. Until it reports ready it is excluded, if it cannot be reached at
   *  all or if another one is usable. */
  reportFailure(target: Target, isUnreachable: boolean): void;
  exclude(target: Target): void;
  /** The apiserver reported ready. */
  include(target: Target): void;
  begin(target: Target, underway: InflightRequest): () => void;
  /** New requests go to these from now on. */
  switchTo(targets: readonly Target[]): void;
  current(): readonly Target[];
  /** Waits until no short request is in flight; false after the timeout. */
  drain(target: Target, withinMs: number): Promise<boolean>;
  /** Aborts its remaining requests and closes its connections. */
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
    hasNext: () => usable().length > 0,
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
