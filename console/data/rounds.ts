// Hints come as often as things change; a person's requests are limited, and a screen asks for several things at once. So hints are gathered into
// rounds: the first one soon, those that follow with growing pauses while hints keep coming, and none before the one before has ended.

const gatherMs = 100;
const firstPauseMs = 500;
const maxPauseMs = 4_000;
/** A round that takes longer holds up no further ones. */
const maxRoundMs = 10_000;

export type Kinds = readonly string[] | 'all';

export interface RoundsOptions {
  ask(kinds: Kinds): Promise<void>;
  /** Rounds wait while this says so: during an act, or while the page is not seen. */
  isHeld(): boolean;
}

/** Takes the hints, and asks in rounds. */
export function makeRounds({ ask, isHeld }: RoundsOptions): (kinds: Kinds) => void {
  let pending: Set<string> | 'all' | undefined;
  let isPlanned = false;
  let pauseMs = firstPauseMs;

  const plan = (ms: number) => {
    isPlanned = true;
    setTimeout(() => void round(), ms);
  };
  const round = async () => {
    if (isHeld()) return plan(gatherMs);
    if (!pending) {
      isPlanned = false;
      pauseMs = firstPauseMs;
      return;
    }
    const kinds = pending === 'all' ? pending : [...pending];
    pending = undefined;
    await Promise.race([ask(kinds).catch(() => undefined), new Promise((resolve) => setTimeout(resolve, maxRoundMs))]);
    plan(pauseMs);
    pauseMs = Math.min(maxPauseMs, 2 * pauseMs);
  };
  return (kinds) => {
    if (!kinds.length) return;
    if (kinds === 'all' || pending === 'all') pending = 'all';
    else pending = new Set([...(pending ?? []), ...kinds]);
    if (!isPlanned) plan(gatherMs);
  };
}
