import { AsyncLocalStorage } from 'node:async_hooks';
import Type from 'typebox';
import type { App } from '../../src/kernel/app.ts';
import { row, type Tx } from '../../src/kernel/db/index.ts';
import { eventually } from './process.ts';

/** Takes locks in a transaction of the test's own and keeps them until `release`. */
export async function holding(app: App, lock: (tx: Tx) => Promise<unknown>): Promise<{ release(): Promise<void> }> {
  const [held, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const outside = AsyncLocalStorage.snapshot(); // what the test does meanwhile is no part of the transaction
  const ended = outside(() =>
    app.db.write(async (tx) => {
      await lock(tx);
      held.resolve();
      await released.promise;
    }),
  );
  await Promise.race([held.promise, ended]);
  return {
    release: () => {
      released.resolve();
      return ended;
    },
  };
}

const WaitingRow = Type.Object({ waiting: Type.Integer() });

/** How many transactions wait for a lock at this moment. */
export const countWaiting = async (app: App): Promise<number> =>
  (await app.db.read(
    (tx) => row(tx, WaitingRow)`
      select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  ))!.waiting;

/** Resolves once so many transactions wait for a lock, or `isOver` says that there is nothing to wait for. */
export const untilWaiting = (app: App, count: number, isOver: () => boolean = () => false) =>
  eventually(async () => isOver() || (await countWaiting(app)) >= count);
