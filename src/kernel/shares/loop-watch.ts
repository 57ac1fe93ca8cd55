/**
 * Says who held the event loop. A turn of the loop is a row of pieces, each begun by somebody who resumes: a request that arrives, an
 * answer of the database, a job. A piece lasts until the next one resumes or the turn ends.
 */
export interface LoopWatch {
  /** From here on, until somebody else says so, time belongs to this act. Costs 0.1 µs. */
  resume(act: string): void;
  /** The pieces that were long, by act. */
  figures(): { act: string; count: number; seconds: number; longest: number }[];
}

/** Shorter ones hold up nobody. */
const noticedMs = 20;

/** `tell` hears of each long piece, after it. */
export function makeLoopWatch(tell: (act: string, ms: number) => void = () => {}, now = () => performance.now()): LoopWatch {
  const long = new Map<string, { act: string; count: number; seconds: number; longest: number }>();
  let isTurn = false;
  let act = '';
  let since = 0;

  const close = (at: number) => {
    const ms = at - since;
    if (ms < noticedMs) return;
    const known = long.get(act) ?? { act, count: 0, seconds: 0, longest: 0 };
    long.set(act, { act, count: known.count + 1, seconds: known.seconds + ms / 1000, longest: Math.max(known.longest, ms / 1000) });
    tell(act, ms);
  };
  const endTurn = () => {
    isTurn = false;
    close(now());
  };
  return {
    resume: (next) => {
      const at = now();
      if (isTurn) close(at);
      else {
        isTurn = true;
        setImmediate(endTurn);
      }
      act = next;
      since = at;
    },
    figures: () => [...long.values()],
  };
}
