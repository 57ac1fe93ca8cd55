import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import type { Spool } from '../../../kernel/spool/index.ts';
import { noteHolder } from '../store/holders.ts';
import * as store from '../store/segments.ts';
import { queueChannel } from './queue/channel.ts';
import { arrivalsChannel } from './receiving/inbound-message.ts';

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

/** With S3, a segment takes mail for so long before it is sealed and uploaded. */
export const maxOpenMs = 1_000;
/** How often a segment is looked for that is due; asks nobody unless there is one. */
const pollIntervalMs = 250;
/** How often this data directory says that it is there, and looks for segments that a killed process left. */
const directoryIntervalMs = 10_000;
/** After the storage did not take one. */
const retryDelayMs = 2_000;
/** A writer closes its segment in seconds: one that nobody touched for so long belongs to nobody who still runs. */
const abandonedAfterMs = 300_000;
/** A server that stops waits so long for its last upload; a container has 10 s by default, and connections end before this. */
const stopWaitMs = 5_000;

/** Later than any file was touched. */
const farFuture = new Date(8.64e15);
const epoch = new Date(0);

/** Closes segments that are full or old, and hands those that lie only on this machine to the storage that everybody reads. */
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
  /** Hands over what there is, and gives up after some seconds: it stays on the disk, and the next start adopts it. */
  stop(): Promise<void>;
}

/** The same, again and again. */
export function runSegmentUploads(app: App, spool: Spool): SegmentUploads {
  return runUploads(app, spool, () => uploadSegments(app, spool));
}

/**
 * The same for a whole data directory: a start adopts what earlier processes left there, at once. A segment that a neighbour on the same directory
 * still writes to is sealed by that; the neighbour goes on in another one.
 */
export function runDirectoryUploads(app: App, spool: Spool, node: string): SegmentUploads {
  let adopted = false;
  let tendAt = Number.NEGATIVE_INFINITY;
  const isDue = () => performance.now() >= tendAt;
  const tend = async () => {
    const at = Date.parse(await app.db.write((tx) => noteHolder(tx, node)));
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
