import Type from 'typebox';
import { row, rows, run, type Tx } from '../../kernel/db/index.ts';

/** An advisory lock until the end of the transaction: exclusive, or shared with other acting transactions. */
export interface RightsLock {
  key: bigint;
  exclusive: boolean;
}

/** Keys as PostgreSQL writes numbers; in the order given. */
export const shareInOrder = async (tx: Tx, keys: readonly string[]): Promise<void> => {
  if (keys.length) await run(tx)`select pg_advisory_xact_lock_shared(key) from unnest(${keys}::bigint[]) key`;
};

/** In the order given, in one statement. PostgreSQL queues them fairly: a shared lock does not overtake an exclusive one that waits. */
export async function lockInOrder(tx: Tx, locks: readonly RightsLock[]): Promise<void> {
  const keys = locks.map(({ key }) => String(key));
  if (!locks.some(({ exclusive }) => exclusive)) return shareInOrder(tx, keys);
  const exclusive = locks.map((lock) => lock.exclusive);
  await run(tx)`
    select case when exclusive then pg_advisory_xact_lock(key) else pg_advisory_xact_lock_shared(key) end
      from unnest(${keys}::bigint[], ${exclusive}::boolean[]) as l (key, exclusive)`;
}

const MissedRow = Type.Object({ key: Type.String() });

/** Takes the shared locks that are free, with no waiting transaction ahead. Returns the others. */
export const tryShare = async (tx: Tx, keys: readonly bigint[]): Promise<bigint[]> =>
  (
    await rows(tx, MissedRow)`
      select key::text from unnest(${keys.map(String)}::bigint[]) key where not pg_try_advisory_xact_lock_shared(key)`
  ).map(({ key }) => BigInt(key));

const HeldRow = Type.Object({ held: Type.Boolean() });

/** Whether this transaction holds a lock exclusively. */
export const holdsExclusively = async (tx: Tx, key: bigint): Promise<boolean> =>
  (await row(tx, HeldRow)`
    select exists (select from pg_locks where locktype = 'advisory' and pid = pg_backend_pid() and mode = 'ExclusiveLock' and granted
                      and objsubid = 1 and (classid::bigint << 32 | objid::bigint) = ${String(key)}::bigint) as held`)!.held;
