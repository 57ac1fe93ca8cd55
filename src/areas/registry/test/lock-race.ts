import { AsyncLocalStorage } from 'node:async_hooks';
import { eventually } from '../../../../test/harness/process.ts';
import type { App } from '../../../kernel/app.ts';
import { run, type Tx } from '../../../kernel/db/index.ts';

const someoneWaits = async (app: App) =>
  (await app.db.read((tx) => run(tx)`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)) > 0;

/**
 * Runs `first` in a transaction, starts `second`, and commits once `second` waits for a lock or has ended. Code that reads before it locks
 * has read too early by then.
 */
export async function overtaken<T>(
  app: App,
  first: (tx: Tx) => Promise<unknown>,
  second: () => Promise<T>,
  last: (tx: Tx) => Promise<unknown> = async () => {},
): Promise<T> {
  const outside = AsyncLocalStorage.snapshot(); // the second act is no part of the transaction
  const started = await app.db.write(async (tx) => {
    await first(tx);
    const running = { over: false, answer: outside(second) };
    const done = () => {
      running.over = true;
    };
    running.answer.then(done, done);
    await eventually(async () => running.over || (await someoneWaits(app)));
    await last(tx);
    return running;
  });
  return started.answer;
}
