import Type from 'typebox';
import { row, type Tx } from '../db/index.ts';

// A backup copies rows first and the blobs they name afterwards. Between the two, no process may remove a stored object.

/** Every backup session holds it shared, from before its snapshot until its last blob is copied. */
export const backupLock = 7_203_114_503;

const FreeRow = Type.Object({ free: Type.Boolean() });

/**
 * Call it in the transaction that decides to remove stored objects, and remove them before that transaction ends. False: a backup is
 * running; try again later.
 */
export const mayRemoveStored = async (tx: Tx): Promise<boolean> =>
  (await row(tx, FreeRow)`select pg_try_advisory_xact_lock(${backupLock}) as free`)!.free;
