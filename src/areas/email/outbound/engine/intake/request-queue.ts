import { Refusal } from '../../../../../kernel/errors.ts';
import { RoundRobinQueue } from '../../../../../kernel/fairness/index.ts';
import type { PendingSubmit } from './types.ts';

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
  const waiting = new RoundRobinQueue<{ org: string; entry: PendingSubmit }>();
  const messagesOf = new Map<string, number>();
  let target: { size: number; onReached: () => void } | undefined;
  const countMessages = (org: string, change: number) => {
    const count = (messagesOf.get(org) ?? 0) + change;
    if (count > 0) messagesOf.set(org, count);
    else messagesOf.delete(org);
  };

  return {
    requireCapacity(org, messages) {
      if ((messagesOf.get(org) ?? 0) + messages <= maxWaitingPerOrg) return;
      throw new Refusal(503, 'busy', `${maxWaitingPerOrg} messages of this organization wait to be accepted; send this again in a moment`, {
        headers: { 'retry-after': '1' },
      });
    },
    add(org, entry) {
      waiting.push(org, { org, entry });
      countMessages(org, entry.prepared.length);
      if (target && waiting.size >= target.size) target.onReached();
    },
    get size() {
      return waiting.size;
    },
    waitForSize(wanted, timeoutMs) {
      if (waiting.size >= wanted) return Promise.resolve();
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
        const next = waiting.next();
        if (next === undefined) break;
        const { org, entry } = next;
        countMessages(org, -entry.prepared.length);
        batch.push(entry);
        messages += entry.prepared.length;
        bytes += entry.prepared.reduce((sum, { inline }) => sum + (inline?.length ?? 0), 0);
      }
      return batch;
    },
  };
}
