interface Waiting<I, O> {
  item: I;
  resolve(result: O): void;
  reject(error: unknown): void;
}

const mostAtOnce = 200;

/**
 * What is asked for while a batch is on its way goes with the next one, which begins no sooner than `paceMs` after the one before began. So whoever
 * comes alone waits for nobody, and many who come one by one do not cost a transaction each. One batch at a time.
 */
export function gatherPaced<I, O>(paceMs: number, act: (items: I[]) => Promise<O[]>): (item: I) => Promise<O> {
  const waiting: Waiting<I, O>[] = [];
  let isRunning = false;
  let begunAt = Number.NEGATIVE_INFINITY;

  const run = async () => {
    begunAt = performance.now();
    const batch = waiting.splice(0, mostAtOnce);
    try {
      const results = await act(batch.map(({ item }) => item));
      batch.forEach(({ resolve }, n) => {
        resolve(results[n]!);
      });
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
    if (waiting.length > 0) schedule();
    else isRunning = false;
  };
  const schedule = () => {
    const ms = waiting.length >= mostAtOnce ? 0 : begunAt + paceMs - performance.now();
    if (ms < 1) setImmediate(run);
    else setTimeout(run, ms);
  };
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isRunning) return;
      isRunning = true;
      schedule();
    });
}
