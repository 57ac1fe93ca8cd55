import { randomUUID } from 'node:crypto';
import { UploadBusy } from '../../../../kernel/storage/index.ts';
import { claimWriter, releaseWriter, renewWriter } from '../../store/uploads.ts';
import type { Engine } from '../settings.ts';
import type { Hashes } from './hashes.ts';
import { patiently } from './patience.ts';

// Servers that share a store keep apart by the upload's row: one process writes to an upload until it is done, or until its lease has
// lapsed because it stopped renewing it (it is dead, frozen or cut off from the database). It counts its own lease as shorter than the
// row does, by a clock that does not jump, and asks before every write: so it stops before another one may begin.

export const leaseTimes = { leaseSeconds: 30, ownMs: 20_000, renewMs: 8_000 };

/** The right to write to one upload. */
export interface WriteLease {
  /** Throws UploadBusy once another process may write. */
  mayWrite(): Promise<void>;
  end(): Promise<void>;
}

export interface WriteLeases {
  /** Throws UploadBusy while somebody else writes to the upload. */
  take(id: string): Promise<WriteLease>;
}

export function makeWriteLeases({ app }: Engine, hashes: Hashes): WriteLeases {
  const writer = randomUUID();
  const taken = new Set<string>();
  /** Those that are being given back: whoever was cut off and comes again at once waits for that. */
  const ending = new Map<string, Promise<void>>();

  const claim = async (id: string) => {
    const claimed = await patiently(() => app.db.read((tx) => claimWriter(tx, { id, writer, seconds: leaseTimes.leaseSeconds })));
    if (!claimed) throw new UploadBusy();
    // Somebody else has written since we hashed: what is there is read back at the end.
    if (claimed.before !== null && claimed.before !== writer) hashes.forget(id);
  };

  return {
    take: async (id) => {
      await ending.get(id);
      if (taken.has(id)) throw new UploadBusy();
      taken.add(id);
      let ownUntil = performance.now() + leaseTimes.ownMs;
      try {
        await claim(id);
      } catch (error) {
        taken.delete(id);
        throw error;
      }
      const renew = async () => {
        const begun = performance.now();
        const seconds = leaseTimes.leaseSeconds;
        if ((await patiently(() => app.db.read((tx) => renewWriter(tx, { id, writer, seconds })))) === 0) {
          hashes.forget(id);
          throw new UploadBusy();
        }
        ownUntil = begun + leaseTimes.ownMs;
      };
      const timer = setInterval(() => void renew().catch(() => {}), leaseTimes.renewMs).unref();
      return {
        mayWrite: async () => {
          if (performance.now() >= ownUntil) await renew();
        },
        end: () => {
          clearInterval(timer);
          const ended = app.db
            .read((tx) => releaseWriter(tx, id, writer))
            .then(
              () => {},
              () => {}, // it lapses by itself
            )
            .finally(() => {
              ending.delete(id);
              taken.delete(id);
            });
          ending.set(id, ended);
          return ended;
        },
      };
    },
  };
}
