import { setTimeout as sleep } from 'node:timers/promises';
import type { Sealed } from '../../areas/area.ts';
import type { Db, Tx } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { type KeyRing, seal, unseal } from '../../kernel/secrets.ts';
import { currentXid, hasOtherwiseSealed, haveEndedBefore, lockOtherwiseSealed, updateSealed } from './store.ts';

const rowsPerBatch = 200;
const timeoutMs = 60_000;

/** Seals anew, in small transactions, what another key than the first seals. How many values that were. */
export async function resealColumn(db: Db, ring: KeyRing, where: Sealed): Promise<number> {
  const until = performance.now() + timeoutMs;
  for (let done = 0; ; ) {
    const count = await db.write((tx) => resealSome(tx, ring, where));
    done += count;
    if (count > 0) continue;
    if (!(await db.read((tx) => hasOtherwiseSealed(tx, where, ring.keys[0]!.id)))) return done;
    // What is left is being changed by somebody at this moment.
    if (performance.now() > until) {
      throw new Stop(
        exitCodes.refused,
        `rows of ${where.table} stay locked by others; run \`quarterdeck admin rotate-key\` again, which goes on from here`,
      );
    }
    await sleep(100);
  }
}

async function resealSome(tx: Tx, ring: KeyRing, where: Sealed): Promise<number> {
  const found = await lockOtherwiseSealed(tx, where, ring.keys[0]!.id, rowsPerBatch);
  for (const { id, sealed } of found) {
    const place = `${where.table}.${where.column}.${id}`;
    await updateSealed(tx, where, id, seal(ring, opened(ring, sealed, place), place));
  }
  return found.length;
}

function opened(ring: KeyRing, sealed: Buffer, place: string): Buffer {
  try {
    return unseal(ring, sealed, place);
  } catch (error) {
    throw new Stop(
      exitCodes.secretKey,
      `${place} cannot be opened with any key of secret.key: ${(error as Error).message}; put the missing key back, or delete that row`,
      { cause: error },
    );
  }
}

/** Waits until all transactions that were writing have ended: values that they sealed with the old key are visible then. */
export async function waitForWriters(db: Db): Promise<void> {
  const xid = await db.write(currentXid);
  const until = performance.now() + timeoutMs;
  while (!(await db.read((tx) => haveEndedBefore(tx, xid)))) {
    if (performance.now() > until) {
      throw new Stop(
        exitCodes.refused,
        'a transaction has been open for a minute; end it, then run `quarterdeck admin rotate-key` again, which goes on from here',
      );
    }
    await sleep(100);
  }
}
