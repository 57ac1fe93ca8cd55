import type { App } from '../../../kernel/app.ts';
import type { Spool } from '../../../kernel/spool/index.ts';
import { now } from '../../../kernel/time.ts';
import * as store from '../store/retention.ts';

const everyMs = 10_000;
/** A writer closes its segment after a minute: one that nobody touched for so long belongs to nobody who still runs. */
const abandonedMs = 300_000;

/** Closes segments that are full or old, and hands those that lie only on this machine to the storage that everybody reads. */
export function keepStoring({ db, log }: App, spool: Spool) {
  let running: Promise<void> | undefined;
  const telling = {
    seal: async (key: string) => void (await db.write((tx) => store.sealSegment(tx, key))),
    stored: (key: string) => db.write((tx) => store.markStored(tx, key)),
  };
  const timer = setInterval(() => {
    running ??= db
      .read(now)
      .then((at) => spool.store(telling, new Date(Date.parse(at) - abandonedMs)))
      .catch((error) => log.warn({ err: error }, 'mail could not be handed to the storage yet; trying again'))
      .finally(() => {
        running = undefined;
      });
  }, everyMs).unref();
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
