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
  /** Its name, in what is told of the event loop. */
  name: string;
  /** Whose an item is. Default: the organization's on whose behalf it was asked for. */
  orgsOf?(item: I): readonly string[];
  /** A batch begins no sooner than so long after the one before began, unless it is full: many who come one by one do not cost a transaction each. */
  minIntervalMs?: number;
  /** Whether an error may be about one of a batch alone. Default: the database cannot take a value. */
  isItemError?(error: unknown): boolean;
}

const maxBatchSize = 200;

function orgOfCaller(): readonly string[] {
  const { org, isSystem } = currentContext();
  return [isSystem ? '' : org];
}

/**
 * What is asked for in one turn, or while one batch is on its way, goes with the next: the busier it is, the less each costs. One batch at a time,
 * and whoever comes alone waits for nobody. One that the database cannot take makes its batch fall apart by halves until it stands alone: it
 * costs nobody else their turn. The event loop's time that a batch takes is theirs whose items are in it.
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
