import { join } from 'node:path';
import type { App } from '../../../kernel/app.ts';
import type { Spool } from '../../../kernel/spool/index.ts';
import { now } from '../../../kernel/time.ts';
import * as store from '../store/retention.ts';

/** Where segments are that are not objects yet, and how their keys begin. */
export const segmentFolder = (dataDir: string) => join(dataDir, 'mail');
export const segmentPrefix = 'mail/segments';

/** The segment was sealed while it was written to: this process was stopped for long, and others took it for dead. */
export class SegmentSealed extends Error {
  constructor(key: string) {
    super(`the segment ${key} was sealed while it was written to`);
  }
}

/** Writes into a new segment what was to go into one that is sealed. */
export async function retrySealed<T>(spool: Spool, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof SegmentSealed)) throw error;
    spool.rotate();
    return write();
  }
}

const everyMs = 10_000;
/** A writer closes its segment after a minute: one that nobody touched for so long belongs to nobody who still runs. */
const abandonedMs = 300_000;

/** Closes segments that are full or old, and hands those that lie only on this machine to the storage that everybody reads. */
export async function storeSegments({ db }: App, spool: Spool): Promise<void> {
  const at = Date.parse(await db.read(now));
  const telling = {
    seal: async (key: string) => void (await db.write((tx) => store.sealSegment(tx, key))),
    stored: (key: string) => db.write((tx) => store.markStored(tx, key)),
  };
  await spool.store(telling, new Date(at - abandonedMs));
}

/** The same, again and again. */
export function keepStoring(app: App, spool: Spool) {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= storeSegments(app, spool)
      .catch((error) => app.log.warn({ err: error }, 'mail could not be handed to the storage yet; trying again'))
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
