import type { ListeningPart } from '../areas/area.ts';
import { type Ending, stopEnding } from '../kernel/lifecycle/ending.ts';
import type { Logger } from '../kernel/log.ts';

/**
 * The parts of a server in the order in which it ends:
 *
 * 1. /readyz answers 503, and responses close their connections, until proxies had time to notice.
 * 2. Before a stop, what other servers can go on with is passed on to them.
 * 3. No more connections are accepted, and answers that wait are given. Requests and messages finish; then callers are told to come again.
 * 4. Jobs and mail under way finish, or are handed back. Before a hand-over this is done first, since new connections wait during 3.
 * 5. Everything else ends, last started first: the database last of all.
 */
export interface Parts {
  /** Ends when all that was added after it has ended. */
  add(stop: (ending: Ending) => unknown): void;
  /** Work that no client waits for. */
  addBackground(stop: (ending: Ending) => unknown): void;
  /** A part that clients are connected to. */
  addListening(part: ListeningPart): void;
  /** Safe to call twice. A stop that comes during a hand-over makes a stop of it, as far as it has not got. */
  end(ending?: Ending): Promise<void>;
}

export interface EndSignals {
  /** Step 1. */
  leaving: AbortController;
  /** Step 3. */
  ending: AbortController;
}

type Act = (ending: Ending) => unknown;

export function makeParts(log: Logger, { leaving, ending: closing }: EndSignals): Parts {
  const stops: Act[] = [];
  const background: Act[] = [];
  const listening: ListeningPart[] = [];
  let current: Ending | undefined;
  let ended: Promise<void> | undefined;

  const tried = async (act: Act) => {
    try {
      await act(current!);
    } catch (error) {
      log.error({ err: error }, 'a part did not stop cleanly');
    }
  };
  const stopBackground = () => Promise.all(background.splice(0).map(tried));
  const end = async (first: Ending) => {
    leaving.abort();
    await first.notice;
    if (first.isHandOver) await stopBackground();
    else await Promise.all(listening.map((part) => tried(() => part.passOn?.())));
    // Each part closes its sockets before it waits, so a client that comes again at once finds the next server.
    const drained = listening.map((part) => tried((now) => part.drain(now)));
    closing.abort();
    await Promise.all([...drained, stopBackground()]);
    for (const stop of stops.splice(0).reverse()) await tried(stop);
  };
  return {
    add: (stop) => void stops.push(stop),
    addBackground: (stop) => void background.push(stop),
    addListening(part) {
      listening.push(part);
      stops.push((now) => part.stop(now));
    },
    end(ending = stopEnding) {
      if (!current || !ending.isHandOver) current = ending;
      ended ??= end(ending);
      return ended;
    },
  };
}
