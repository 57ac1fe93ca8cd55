import Type from 'typebox';
import { row, type Tx } from '../db/index.ts';

// A backup copies rows first and the blobs they name afterwards. Whoever removes stored objects must not take one away in between.

/** Held shared, in its session, by every backup from before its snapshot until its last blob is copied. */
export const backupLock = 7_203_114_503;

const FreeRow = Type.Object({ free: Type.Boolean() });

/** Ask in the transaction that decides to remove stored objects, and remove them before it ends. False: a backup runs, come again later. */
export const mayRemoveStored = async (tx: Tx): Promise<boolean> =>
  (await row(tx, FreeRow)`select pg_try_advisory_xact_lock(${backupLock}) as free`)!.free;
