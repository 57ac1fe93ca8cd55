import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import type { Spool } from '../../../kernel/spool/index.ts';
import { noteDirectory } from '../store/data-directories.ts';
import * as store from '../store/segments.ts';
import { arrivalsChannel, queueChannel } from './channels.ts';

/** The folder of segments that are not objects yet, and the prefix of their keys. */
export const segmentFolder = (dataDir: string) => join(dataDir, 'mail');
export const segmentPrefix = 'mail/segments';

/** The segment was sealed while it was written to: this process was suspended for long, and another process adopted its segment. */
export class SegmentSealed extends Error {
  constructor(key: string) {
    super(`the segment ${key} was sealed while it was written to`);
  }
}

/** Writes again, into a new segment, if the current one was sealed. */
export async function retrySealed<T>(spool: Spool, write: () => Promise<T>): Promise<T> {
  try {
    return await write();
  } catch (error) {
    if (!(error instanceof SegmentSealed)) throw error;
    spool.rotate();
    return write();
  }
}

/** With S3, a segment is open for this long before it is sealed and uploaded. */
export const maxOpenMs = 1_000;
/** Checks in memory for a due segment; without one it costs no statement. */
const pollIntervalMs = 250;
/** Interval for announcing this data directory and for adopting segments of killed processes. */
const directoryIntervalMs = 10_000;
/** Delay after a failed upload. */
const retryDelayMs = 2_000;
/** A writer closes its segment within seconds: one untouched for this long has no living writer. */
const abandonedAfterMs = 300_000;
/** Longest wait for the last upload at a stop. A container has 10 s by default, and connections end before this. */
const stopWaitMs = 5_000;

/** Later than any file's modification time. */
const farFuture = new Date(8.64e15);
const epoch = new Date(0);

/** Closes segments that are full or old, and uploads those that are only on this machine's disk. */
export async function uploadSegments({ db }: App, spool: Spool, untouchedSince = epoch): Promise<void> {
  const telling = {
    seal: async (key: string) => void (await db.write((tx) => store.sealSegment(tx, key))),
    stored: (key: string) =>
      db.write(async (tx) => {
        await store.markStored(tx, key);
        wake(tx, queueChannel);
        wake(tx, arrivalsChannel);
      }),
  };
  await spool.store(telling, untouchedSince);
}

export interface SegmentUploads {
  /** Uploads the rest, for at most 5 s. What remains stays on the disk, and the next start adopts it. */
  stop(): Promise<void>;
}

/** Uploads the segments of one spool until `stop`. */
export function runSegmentUploads(app: App, spool: Spool): SegmentUploads {
  return runUploads(app, spool, () => uploadSegments(app, spool));
}

/**
 * The same for a whole data directory. A start adopts the segments of earlier processes at once. That also seals a segment that another process on
 * the same directory still writes to; that process continues in a new one.
 */
export function runDirectoryUploads(app: App, spool: Spool, node: string): SegmentUploads {
  let adopted = false;
  let tendAt = Number.NEGATIVE_INFINITY;
  const isDue = () => performance.now() >= tendAt;
  const tend = async () => {
    const at = Date.parse(await app.db.write((tx) => noteDirectory(tx, node)));
    await uploadSegments(app, spool, adopted ? new Date(at - abandonedAfterMs) : farFuture);
    adopted = true;
    tendAt = performance.now() + directoryIntervalMs;
  };
  return runUploads(app, spool, () => (isDue() ? tend() : uploadSegments(app, spool)), isDue);
}

function runUploads(app: App, spool: Spool, act: () => Promise<void>, isDue = () => false): SegmentUploads {
  let running: Promise<void> | undefined;
  let restUntil = Number.NEGATIVE_INFINITY;
  const look = () => {
    if (running || performance.now() < restUntil || !(spool.isDue || isDue())) return;
    running = act()
      .catch((error) => {
        restUntil = performance.now() + retryDelayMs;
        app.log.warn({ err: error }, 'mail could not be handed to the storage yet; trying again');
      })
      .finally(() => {
        running = undefined;
      });
  };
  look();
  const timer = setInterval(look, pollIntervalMs).unref();
  const finish = async (until: number) => {
    await running;
    spool.rotate();
    for (;;) {
      const isDone = await uploadSegments(app, spool).then(
        () => true,
        () => false,
      );
      if (isDone || performance.now() >= until) return;
      await sleep(pollIntervalMs);
    }
  };
  return {
    async stop() {
      clearInterval(timer);
      const giveUp = new AbortController();
      const late = sleep(stopWaitMs, undefined, { signal: giveUp.signal }).then(
        () => app.log.warn('mail of the last seconds is on this disk alone; start a server on this data directory again'),
        () => {},
      );
      await Promise.race([finish(performance.now() + stopWaitMs), late]);
      giveUp.abort();
    },
  };
}
