import { type LoopLoad, watchLoop } from './loop-load.ts';
import { makeLoopThrottle } from './loop-throttle.ts';
import type { LoopWatch, WorkContext } from './types.ts';
import { currentContext, systemContext } from './work-context.ts';

/** Shorter pieces are not reported. */
const noticedMs = 20;

/** `tell` is called after each long piece. */
export function makeLoopWatch(
  tell: (act: string, ms: number) => void = () => {},
  now = () => performance.now(),
  load: LoopLoad = watchLoop(now),
): LoopWatch {
  const share = makeLoopThrottle(now, load);
  const long = new Map<string, { act: string; count: number; seconds: number; longest: number }>();
  let isOpen = false;
  let piece = 0;
  /** The newest piece when its end was scheduled. */
  let ending = 0;
  let context = systemContext;
  let since = 0;

  const count = (ms: number) => {
    if (context.orgShares) for (const [org, part] of context.orgShares) org ? share.charge(org, part * ms) : load.weigh(part * ms);
    else if (context.isSystem) load.weigh(ms);
    else share.charge(context.org, ms);
  };
  const close = (at: number) => {
    const ms = at - since;
    count(ms);
    if (ms < noticedMs) return;
    const { operation: act } = context;
    const known = long.get(act) ?? { act, count: 0, seconds: 0, longest: 0 };
    long.set(act, { act, count: known.count + 1, seconds: known.seconds + ms / 1000, longest: Math.max(known.longest, ms / 1000) });
    tell(act, ms);
  };
  const end = () => {
    if (piece !== ending) return queueMicrotask(endLater); // another piece began since
    isOpen = false;
    close(now());
  };
  /** A tick scheduled from a microtask runs after all microtasks and before the next callback. */
  const endLater = () => {
    ending = piece;
    process.nextTick(end);
  };
  const resume = (next: WorkContext) => {
    const at = now();
    if (isOpen) close(at);
    else queueMicrotask(endLater);
    isOpen = true;
    piece++;
    context = next;
    since = at;
  };
  return {
    resume,
    takeTurn: (next = currentContext()) => {
      const rest = next.isSystem || next.isUrgent ? undefined : share.delay(next.org);
      if (rest) return rest.then(() => resume(next));
      resume(next);
      return undefined;
    },
    figures: () => [...long.values()],
    throttle: share,
    isBusy: load.isBusy,
  };
}
