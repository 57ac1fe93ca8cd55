import { isAboutData } from '../../../../kernel/db/index.ts';

interface Waiting<I, O> {
  item: I;
  resolve(result: O): void;
  reject(error: unknown): void;
}

const mostAtOnce = 200;

/**
 * What is asked for in one turn, or while one statement is on its way, goes with the next: the busier it is, the less each costs. One that
 * the database cannot take makes its batch fall apart by halves until it stands alone: it costs nobody else their turn.
 */
export function gatherCalls<I, O>(act: (items: I[]) => Promise<O[]>): (item: I) => Promise<O> {
  const waiting: Waiting<I, O>[] = [];
  let isRunning = false;

  const actOn = async (batch: Waiting<I, O>[]): Promise<void> => {
    try {
      const results = await act(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, n) => {
        resolve(results[n]!);
      });
    } catch (error) {
      if (batch.length === 1 || !isAboutData(error)) {
        for (const { reject } of batch) reject(error);
        return;
      }
      const half = Math.ceil(batch.length / 2);
      await actOn(batch.slice(0, half));
      await actOn(batch.slice(half));
    }
  };
  const run = async () => {
    while (waiting.length > 0) await actOn(waiting.splice(0, mostAtOnce));
    isRunning = false;
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isRunning) return;
      isRunning = true;
      setImmediate(run);
    });
}
