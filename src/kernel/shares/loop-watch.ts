import { type Behalf, currentBehalf, house } from './behalf.ts';
import { type LoopLoad, watchLoop } from './loop-load.ts';
import { type LoopShare, makeLoopShare } from './loop-share.ts';

/**
 * Says who held the event loop. A piece of work is begun by somebody who resumes: a request that is answered, an answer of the database, a
 * job, a slice. It lasts until the next one resumes, or until Node calls back somebody else: what comes then is not known to be theirs.
 */
export interface LoopWatch {
  /** From here on, until somebody else says so or this callback is over, time is spent on their behalf. Costs 0.2 µs. */
  resume(behalf: Behalf): void;
  /** Before a piece of work that can wait, such as a transaction or the next chunk of a body: resumes, or gives what to wait for first. */
  takeTurn(behalf?: Behalf): Promise<void> | undefined;
  /** The pieces that were long, by act. */
  figures(): { act: string; count: number; seconds: number; longest: number }[];
  share: LoopShare;
  /** Whether the loop had much to do within the last moments. */
  isBusy(): boolean;
}

/** Shorter ones hold up nobody. */
const noticedMs = 20;

/** `tell` hears of each long piece, after it. */
export function makeLoopWatch(
  tell: (act: string, ms: number) => void = () => {},
  now = () => performance.now(),
  load: LoopLoad = watchLoop(now),
): LoopWatch {
  const share = makeLoopShare(now, load);
  const long = new Map<string, { act: string; count: number; seconds: number; longest: number }>();
  let isOpen = false;
  let piece = 0;
  /** The newest piece when its end was asked for. */
  let ending = 0;
  let behalf = house;
  let since = 0;

  const count = (ms: number) => {
    if (behalf.parts) for (const [org, part] of behalf.parts) org ? share.spend(org, part * ms) : load.weigh(part * ms);
    else if (behalf.isAside) load.weigh(ms);
    else share.spend(behalf.org, ms);
  };
  const close = (at: number) => {
    const ms = at - since;
    count(ms);
    if (ms < noticedMs) return;
    const { act } = behalf;
    const known = long.get(act) ?? { act, count: 0, seconds: 0, longest: 0 };
    long.set(act, { act, count: known.count + 1, seconds: known.seconds + ms / 1000, longest: Math.max(known.longest, ms / 1000) });
    tell(act, ms);
  };
  const end = () => {
    if (piece !== ending) return queueMicrotask(endLater); // another one began since
    isOpen = false;
    close(now());
  };
  /** A tick that is asked for among promises comes once none of them has more to do, and before the next callback. */
  const endLater = () => {
    ending = piece;
    process.nextTick(end);
  };
  const resume = (next: Behalf) => {
    const at = now();
    if (isOpen) close(at);
    else queueMicrotask(endLater);
    isOpen = true;
    piece++;
    behalf = next;
    since = at;
  };
  return {
    resume,
    takeTurn: (next = currentBehalf()) => {
      const rest = next.isAside || next.isUrgent ? undefined : share.rest(next.org);
      if (rest) return rest.then(() => resume(next));
      resume(next);
      return undefined;
    },
    figures: () => [...long.values()],
    share,
    isBusy: load.isBusy,
  };
}
