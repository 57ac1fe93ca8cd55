import { Refusal } from '../../../../kernel/errors.ts';
import type { PendingSubmit } from './batch.ts';

/** Limits of one batch. */
const maxMessagesPerBatch = 500;
const maxBytesPerBatch = 8 * 2 ** 20;

/** Requests that wait for a batch, by organization: one with many requests does not delay the others. */
export interface RequestQueue {
  requireCapacity(org: string, messages: number): void;
  add(org: string, entry: PendingSubmit): void;
  /** The next batch, organizations in turn; empty when no request waits. */
  nextBatch(): PendingSubmit[];
  /** Waiting requests. */
  readonly size: number;
  /** Resolves once `size` requests wait, or after the timeout. One call at a time. */
  waitForSize(size: number, timeoutMs: number): Promise<void>;
}

export function makeRequestQueue(maxWaitingPerOrg: number): RequestQueue {
  const waiting = new Map<string, PendingSubmit[]>();
  let size = 0;
  let target: { size: number; onReached: () => void } | undefined;
  const count = (entries: PendingSubmit[] = []) => entries.reduce((sum, { prepared }) => sum + prepared.length, 0);

  return {
    requireCapacity(org, messages) {
      if (count(waiting.get(org)) + messages <= maxWaitingPerOrg) return;
      throw new Refusal(503, 'busy', `${maxWaitingPerOrg} messages of this organization wait to be accepted; send this again in a moment`, {
        headers: { 'retry-after': '1' },
      });
    },
    add(org, entry) {
      const entries = waiting.get(org);
      if (entries) entries.push(entry);
      else waiting.set(org, [entry]);
      size++;
      if (target && size >= target.size) target.onReached();
    },
    get size() {
      return size;
    },
    waitForSize(wanted, timeoutMs) {
      if (size >= wanted) return Promise.resolve();
      return new Promise((resolve) => {
        const onReached = () => {
          clearTimeout(timer);
          target = undefined;
          resolve();
        };
        const timer = setTimeout(onReached, timeoutMs);
        target = { size: wanted, onReached };
      });
    },
    nextBatch() {
      const batch: PendingSubmit[] = [];
      let messages = 0;
      let bytes = 0;
      while (messages < maxMessagesPerBatch && bytes < maxBytesPerBatch) {
        const [first] = waiting;
        if (first === undefined) break;
        const [org, entries] = first;
        const entry = entries.shift()!;
        // An organization that had its turn goes to the end, for this batch and the next.
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
