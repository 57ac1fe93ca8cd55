import { UploadBusy, UploadUnknown } from '../../../../kernel/storage/index.ts';
import { claimWriter, releaseWriter, releaseWriterAndExtend, renewWriter, writerOf } from '../../store/uploads.ts';
import type { Engine } from '../settings.ts';
import { retryWhileUnavailable } from './database-retry.ts';
import type { Hashes } from './hashes.ts';
import { isWriterDead, nameWriter } from './writer-name.ts';

// Several servers may share a storage; the lease in the upload's row lets one process write at a time. The lease ends with the request, or
// lapses when the holder stops renewing it (dead, frozen or without database). The holder counts its lease as shorter than the row says, by
// a monotonic clock, and checks it before every write, so it stops before another process may start. A holder that died on this machine is
// detected at once: a restarted server continues without waiting.

export const leaseTimes = { leaseSeconds: 30, localLeaseMs: 20_000, renewMs: 8_000 };

/** The right to write to one upload. */
export interface WriteLease {
  /** Throws UploadBusy once another process may write. */
  mayWrite(): Promise<void>;
  end(): Promise<void>;
  /** Ends the lease and extends the upload for its next request. Throws UploadUnknown if the upload is gone or expired. */
  endAndExtendUpload(): Promise<void>;
}

export interface WriteLeases {
  /** Throws UploadBusy while another request writes to the upload. */
  take(id: string): Promise<WriteLease>;
}

export function makeWriteLeases({ app, settings }: Engine, hashes: Hashes): WriteLeases {
  const writerName = nameWriter(app.config);
  const taken = new Set<string>();
  /** Leases being released: a client that reconnects at once waits for the release. */
  const releasing = new Map<string, Promise<void>>();

  const claim = async (id: string) => {
    const writer = await writerName;
    const take = (deadWriter: string | null) =>
      retryWhileUnavailable(() => app.db.read((tx) => claimWriter(tx, { id, writer, deadWriter, seconds: leaseTimes.leaseSeconds })));
    let claimed = await take(null);
    if (!claimed) {
      const previous = await retryWhileUnavailable(() => app.db.read((tx) => writerOf(tx, id)));
      if (previous && isWriterDead(previous, writer)) claimed = await take(previous);
    }
    if (!claimed) throw new UploadBusy();
    // Another process wrote since we hashed, so the content is read back at the end.
    if (claimed.before !== null && claimed.before !== writer) hashes.forget(id);
    return writer;
  };

  const trackRelease = (id: string, released: Promise<unknown>): Promise<void> => {
    const forget = () => {
      releasing.delete(id);
      taken.delete(id);
    };
    const ended = released.then(forget, forget);
    releasing.set(id, ended);
    return ended;
  };

  return {
    take: async (id) => {
      await releasing.get(id);
      if (taken.has(id)) throw new UploadBusy();
      taken.add(id);
      let localLeaseUntil = performance.now() + leaseTimes.localLeaseMs;
      let writer: string;
      try {
        writer = await claim(id);
      } catch (error) {
        taken.delete(id);
        throw error;
      }
      const renew = async () => {
        const begun = performance.now();
        const seconds = leaseTimes.leaseSeconds;
        if ((await retryWhileUnavailable(() => app.db.read((tx) => renewWriter(tx, { id, writer, seconds })))) === 0) {
          hashes.forget(id);
          throw new UploadBusy();
        }
        localLeaseUntil = begun + leaseTimes.localLeaseMs;
      };
      const timer = setInterval(() => void renew().catch(() => {}), leaseTimes.renewMs).unref();
      return {
        mayWrite: async () => {
          if (performance.now() >= localLeaseUntil) await renew();
        },
        end: () => {
          clearInterval(timer);
          return trackRelease(
            id,
            app.db.read((tx) => releaseWriter(tx, id, writer)).catch(() => {}), // it lapses by itself
          );
        },
        endAndExtendUpload: async () => {
          clearInterval(timer);
          const kept = retryWhileUnavailable(() => app.db.read((tx) => releaseWriterAndExtend(tx, id, writer, settings.uploadSeconds)));
          await trackRelease(id, kept);
          if ((await kept) === 0) throw new UploadUnknown();
        },
      };
    },
  };
}
