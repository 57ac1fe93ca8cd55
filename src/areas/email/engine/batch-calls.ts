import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { isAboutData } from '../../../kernel/db/index.ts';
import { batchContext, currentContext, runFor } from '../../../kernel/fairness/index.ts';

interface WaitingCall<I, O> {
  item: I;
  orgs: readonly string[];
  resolve(result: O): void;
  reject(error: unknown): void;
}

export interface BatchCallOptions<I> {
  /** The operation that event-loop time is charged to. */
  name: string;
  /** The organizations that share the cost. Default: the caller's. */
  orgsOf?(item: I): readonly string[];
  /** Minimum time between the starts of two batches, unless the next one is full. Saves a transaction per call under load. */
  minIntervalMs?: number;
  /** Whether one item may have caused the error. Default: the database refused a value. */
  isItemError?(error: unknown): boolean;
}

const maxBatchSize = 200;

function orgOfCaller(): readonly string[] {
  const { org, isSystem } = currentContext();
  return [isSystem ? '' : org];
}

/**
 * Batches calls: those of one event-loop turn, and those made while a batch runs, share the next batch. One batch runs at a time, so a single
 * call waits for no other, and the cost per call falls under load. When an item error fails a batch, the batch is retried in halves until
 * the bad item stands alone; only its caller gets the error. Event-loop time is charged to the organizations in the batch.
 */
export function batchCalls<I, O>(
  { watch }: Pick<App, 'watch'>,
  runBatch: (items: I[]) => Promise<O[]>,
  { name, orgsOf = orgOfCaller, minIntervalMs = 0, isItemError = isAboutData }: BatchCallOptions<I>,
): (item: I) => Promise<O> {
  const waiting: WaitingCall<I, O>[] = [];
  let isRunning = false;
  let startedAt = Number.NEGATIVE_INFINITY;

  const runOrSplit = async (batch: WaitingCall<I, O>[]): Promise<void> => {
    try {
      const orgs = batch.flatMap((each) => each.orgs);
      const results = await runFor(batchContext(name, orgs), () => runBatch(batch.map(({ item }) => item)), watch);
      batch.forEach(({ resolve }, n) => {
        resolve(results[n]!);
      });
    } catch (error) {
      if (batch.length === 1 || !isItemError(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await runOrSplit(batch.slice(0, half));
      await runOrSplit(batch.slice(half));
    }
  };
  const run = async () => {
    while (waiting.length > 0) {
      const ms = waiting.length >= maxBatchSize ? 0 : startedAt + minIntervalMs - performance.now();
      if (ms >= 1) await sleep(ms);
      startedAt = performance.now();
      await runOrSplit(waiting.splice(0, maxBatchSize));
    }
    isRunning = false;
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, orgs: orgsOf(item), resolve, reject });
      if (isRunning) return;
      isRunning = true;
      setImmediate(run);
    });
}
