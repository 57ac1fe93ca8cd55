import Type, { type Static } from 'typebox';
import { type Db, row, run, type Tx } from '../db/index.ts';
import type { Logger } from '../log.ts';

/**
 * After a restore, nothing leaves until the operator has seen what would be sent again: mail, pages, webhooks, mail to subscribers. The old
 * server may have sent it since the backup was made. A restore fills an empty database, so a running server never comes under a hold. The
 * server checks once at its start, and every second while the hold lasts.
 */
export interface RestoreHold {
  readonly isHeld: boolean;
  stop(): void;
}

const HoldRow = Type.Object({ restored_at: Type.String(), backup_at: Type.String() });
export type HoldRow = Static<typeof HoldRow>;

export const findHold = (tx: Tx): Promise<HoldRow | undefined> => row(tx, HoldRow)`select restored_at, backup_at from kernel.restore_hold`;

export const endHold = (tx: Tx): Promise<number> => run(tx)`delete from kernel.restore_hold`;

export const heldSentence =
  'everything that leaves (mail, pages, webhooks) waits since a restore; see what would be sent again, and let it go, with `quarterdeck admin restore go`';

const pollMs = 1_000;

export async function openRestoreHold(db: Db, log: Logger): Promise<RestoreHold> {
  let isHeld = (await db.read(findHold)) !== undefined;
  if (!isHeld) return { isHeld: false, stop: () => {} };
  log.warn(heldSentence);
  const timer = setInterval(async () => {
    isHeld = (await db.read(findHold).catch(() => true)) !== undefined;
    if (isHeld) return;
    clearInterval(timer);
    log.info('the operator let everything go that waited since the restore');
  }, pollMs).unref();
  return {
    get isHeld() {
      return isHeld;
    },
    stop: () => clearInterval(timer),
  };
}
