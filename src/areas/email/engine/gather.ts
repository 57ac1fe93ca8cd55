import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { isAboutData } from '../../../kernel/db/index.ts';
import { batchContext, currentContext, runFor } from '../../../kernel/fairness/index.ts';

interface Waiting<I, O> {
  item: I;
  orgs: readonly string[];
  resolve(result: O): void;
  reject(error: unknown): void;
}

export interface GatherOptions<I> {
  /** Its name, in what is told of the event loop. */
  name: string;
  /** Whose an item is. Default: the organization's on whose behalf it was asked for. */
  orgsOf?(item: I): readonly string[];
  /** A batch begins no sooner than so long after the one before began, unless it is full: many who come one by one do not cost a transaction each. */
  paceMs?: number;
  /** Whether an error may be about one of a batch alone. Default: the database cannot take a value. */
  fallsApart?(error: unknown): boolean;
}

const mostAtOnce = 200;

function callerAlone(): readonly string[] {
  const { org, isSystem } = currentContext();
  return [isSystem ? '' : org];
}

/**
 * What is asked for in one turn, or while one batch is on its way, goes with the next: the busier it is, the less each costs. One batch at a time,
 * and whoever comes alone waits for nobody. One that the database cannot take makes its batch fall apart by halves until it stands alone: it
 * costs nobody else their turn. The event loop's time that a batch takes is theirs whose items are in it.
 */
export function gatherCalls<I, O>(
  { watch }: Pick<App, 'watch'>,
  act: (items: I[]) => Promise<O[]>,
  { name, orgsOf = callerAlone, paceMs = 0, fallsApart = isAboutData }: GatherOptions<I>,
): (item: I) => Promise<O> {
  const waiting: Waiting<I, O>[] = [];
  let isRunning = false;
  let begunAt = Number.NEGATIVE_INFINITY;

  const actOn = async (batch: Waiting<I, O>[]): Promise<void> => {
    try {
      const orgs = batch.flatMap((each) => each.orgs);
      const results = await runFor(batchContext(name, orgs), () => act(batch.map(({ item }) => item)), watch);
      batch.forEach(({ resolve }, n) => {
        resolve(results[n]!);
      });
    } catch (error) {
      if (batch.length === 1 || !fallsApart(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await actOn(batch.slice(0, half));
      await actOn(batch.slice(half));
    }
  };
  const run = async () => {
    while (waiting.length > 0) {
      const ms = waiting.length >= mostAtOnce ? 0 : begunAt + paceMs - performance.now();
      if (ms >= 1) await sleep(ms);
      begunAt = performance.now();
      await actOn(waiting.splice(0, mostAtOnce));
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
