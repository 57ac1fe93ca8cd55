import { UploadBusy } from '../../../../kernel/storage/index.ts';
import { claimWriter, releaseWriter, renewWriter, writerOf } from '../../store/uploads.ts';
import type { Engine } from '../settings.ts';
import type { Hashes } from './hashes.ts';
import { patiently } from './patience.ts';
import { isGone, nameWriter } from './writer.ts';

// Servers that share a store keep apart by the upload's row: one process writes to an upload until it is done, or until its lease has
// lapsed because it stopped renewing it (it is dead, frozen or cut off from the database). It counts its own lease as shorter than the
// row does, by a clock that does not jump, and asks before every write: so it stops before another one may begin. Whoever died on this
// machine is known to be gone at once: a server that was killed and started again goes on where it was.

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
  const naming = nameWriter(app.config);
  const taken = new Set<string>();
  /** Those that are being given back: whoever was cut off and comes again at once waits for that. */
  const ending = new Map<string, Promise<void>>();

  const claim = async (id: string) => {
    const writer = await naming;
    const take = (over: string | null) =>
      patiently(() => app.db.read((tx) => claimWriter(tx, { id, writer, over, seconds: leaseTimes.leaseSeconds })));
    let claimed = await take(null);
    if (!claimed) {
      const other = await patiently(() => app.db.read((tx) => writerOf(tx, id)));
      if (other && isGone(other, writer)) claimed = await take(other);
    }
    if (!claimed) throw new UploadBusy();
    // Somebody else has written since we hashed: what is there is read back at the end.
    if (claimed.before !== null && claimed.before !== writer) hashes.forget(id);
    return writer;
  };

  return {
    take: async (id) => {
      await ending.get(id);
      if (taken.has(id)) throw new UploadBusy();
      taken.add(id);
      let ownUntil = performance.now() + leaseTimes.ownMs;
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
