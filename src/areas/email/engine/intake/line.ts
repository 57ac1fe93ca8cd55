import { Refusal } from '../../../../kernel/errors.ts';
import type { Entry } from './batch.ts';

/** So much goes into one batch. */
const mostMessages = 500;
const mostBytes = 8 * 2 ** 20;

/** Who waits for the next batch: by organization, so that one with very many does not stand before the others. */
export interface Line {
  requireRoom(org: string, messages: number): void;
  add(org: string, entry: Entry): void;
  /** The next batch, organizations in turn; empty when nobody waits. */
  next(): Entry[];
  /** Callers that wait. */
  readonly size: number;
  /** Until so many wait, or some milliseconds are over. For one at a time. */
  gather(size: number, mostMs: number): Promise<void>;
}

export function makeLine(mostWaiting: number): Line {
  const waiting = new Map<string, Entry[]>();
  let size = 0;
  let gathering: { size: number; isReached: () => void } | undefined;
  const count = (entries: Entry[] = []) => entries.reduce((sum, { prepared }) => sum + prepared.length, 0);

  return {
    requireRoom(org, messages) {
      if (count(waiting.get(org)) + messages <= mostWaiting) return;
      throw new Refusal(503, 'busy', `${mostWaiting} messages of this organization wait to be accepted; send this again in a moment`, {
        headers: { 'retry-after': '1' },
      });
    },
    add(org, entry) {
      const entries = waiting.get(org);
      if (entries) entries.push(entry);
      else waiting.set(org, [entry]);
      size++;
      if (gathering && size >= gathering.size) gathering.isReached();
    },
    get size() {
      return size;
    },
    gather(wanted, mostMs) {
      if (size >= wanted) return Promise.resolve();
      return new Promise((resolve) => {
        const isReached = () => {
          clearTimeout(timer);
          gathering = undefined;
          resolve();
        };
        const timer = setTimeout(isReached, mostMs);
        gathering = { size: wanted, isReached };
      });
    },
    next() {
      const batch: Entry[] = [];
      let messages = 0;
      let bytes = 0;
      while (messages < mostMessages && bytes < mostBytes) {
        const [first] = waiting;
        if (first === undefined) break;
        const [org, entries] = first;
        const entry = entries.shift()!;
        // Whoever had a turn stands behind everybody else, in this batch and the next.
        waiting.delete(org);
        if (entries.length > 0) waiting.set(org, entries);
        batch.push(entry);
        messages += entry.prepared.length;
        bytes += entry.prepared.reduce((sum, { inline }) => sum + (inline?.length ?? 0), 0);
      }
      size -= batch.length;
      return batch;
    },
  };
}
