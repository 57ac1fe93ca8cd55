import { UploadBusy, UploadUnknown } from '../../../../kernel/storage/index.ts';
import { claimWriter, releaseKept, releaseWriter, renewWriter, writerOf } from '../../store/uploads.ts';
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
  /** Ends it, and the upload waits anew for its next byte. Throws UploadUnknown at whoever goes on with one that is gone or expired. */
  endKept(): Promise<void>;
}

export interface WriteLeases {
  /** Throws UploadBusy while somebody else writes to the upload. */
  take(id: string): Promise<WriteLease>;
}

export function makeWriteLeases({ app, settings }: Engine, hashes: Hashes): WriteLeases {
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

  const noteEnd = (id: string, released: Promise<unknown>): Promise<void> => {
    const forget = () => {
      ending.delete(id);
      taken.delete(id);
    };
    const ended = released.then(forget, forget);
    ending.set(id, ended);
    return ended;
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
          return noteEnd(
            id,
            app.db.read((tx) => releaseWriter(tx, id, writer)).catch(() => {}), // it lapses by itself
          );
        },
        endKept: async () => {
          clearInterval(timer);
          const kept = patiently(() => app.db.read((tx) => releaseKept(tx, id, writer, settings.uploadSeconds)));
          await noteEnd(id, kept);
          if ((await kept) === 0) throw new UploadUnknown();
        },
      };
    },
  };
}
