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
  /** Throws UploadBusy once another process may write. Handed to the storage on its own, without the lease. */
  readonly mayWrite: () => Promise<void>;
  end(): Promise<void>;
  /** Ends the lease and extends the upload for its next request. Throws UploadUnknown if the upload is gone or expired. */
  endAndExtendUpload(): Promise<void>;
}

export interface WriteLeases {
  /** Throws UploadBusy while another request writes to the upload. */
  take(id: string): Promise<WriteLease>;
}

export const makeWriteLeases = (engine: Engine, hashes: Hashes): WriteLeases => new LocalLeases(engine, hashes);

/** The leases of this process. */
class LocalLeases implements WriteLeases {
  readonly engine: Engine;
  readonly hashes: Hashes;
  readonly #writerName: Promise<string>;
  readonly #taken = new Set<string>();
  /** Leases being released: a client that reconnects at once waits for the release. */
  readonly #releasing = new Map<string, Promise<void>>();

  constructor(engine: Engine, hashes: Hashes) {
    this.engine = engine;
    this.hashes = hashes;
    this.#writerName = nameWriter(engine.app.config);
  }

  async take(id: string): Promise<WriteLease> {
    await this.#releasing.get(id);
    if (this.#taken.has(id)) throw new UploadBusy();
    this.#taken.add(id);
    const localLeaseUntil = performance.now() + leaseTimes.localLeaseMs;
    try {
      return new HeldLease(this, id, await this.#claim(id), localLeaseUntil);
    } catch (error) {
      this.#taken.delete(id);
      throw error;
    }
  }

  /** The upload counts as taken until its release has ended, in success or failure. */
  trackRelease(id: string, released: Promise<unknown>): Promise<void> {
    const forget = () => {
      this.#releasing.delete(id);
      this.#taken.delete(id);
    };
    const ended = released.then(forget, forget);
    this.#releasing.set(id, ended);
    return ended;
  }

  /** Returns the name of the writer that the row has now: ours. */
  async #claim(id: string): Promise<string> {
    const writer = await this.#writerName;
    const claimed = (await this.#claimFrom(null, id, writer)) ?? (await this.#claimFromDead(id, writer));
    if (!claimed) throw new UploadBusy();
    // Another process wrote since we hashed, so the content is read back at the end.
    if (claimed.before !== null && claimed.before !== writer) this.hashes.forget(id);
    return writer;
  }

  async #claimFromDead(id: string, writer: string) {
    const { db } = this.engine.app;
    const previous = await retryWhileUnavailable(() => db.read((tx) => writerOf(tx, id)));
    return previous && isWriterDead(previous, writer) ? await this.#claimFrom(previous, id, writer) : undefined;
  }

  #claimFrom(deadWriter: string | null, id: string, writer: string) {
    const { db } = this.engine.app;
    return retryWhileUnavailable(() => db.read((tx) => claimWriter(tx, { id, writer, deadWriter, seconds: leaseTimes.leaseSeconds })));
  }
}

class HeldLease implements WriteLease {
  readonly #leases: LocalLeases;
  readonly #id: string;
  readonly #writer: string;
  readonly #timer: NodeJS.Timeout;
  /** By the monotonic clock. */
  #localLeaseUntil: number;

  constructor(leases: LocalLeases, id: string, writer: string, localLeaseUntil: number) {
    this.#leases = leases;
    this.#id = id;
    this.#writer = writer;
    this.#localLeaseUntil = localLeaseUntil;
    this.#timer = setInterval(() => void this.#renew().catch(() => {}), leaseTimes.renewMs).unref();
  }

  readonly mayWrite = async (): Promise<void> => {
    if (performance.now() >= this.#localLeaseUntil) await this.#renew();
  };

  end(): Promise<void> {
    clearInterval(this.#timer);
    const released = this.#db.read((tx) => releaseWriter(tx, this.#id, this.#writer)).catch(() => {}); // it lapses by itself
    return this.#leases.trackRelease(this.#id, released);
  }

  async endAndExtendUpload(): Promise<void> {
    clearInterval(this.#timer);
    const { uploadSeconds } = this.#leases.engine.settings;
    const kept = retryWhileUnavailable(() => this.#db.read((tx) => releaseWriterAndExtend(tx, this.#id, this.#writer, uploadSeconds)));
    await this.#leases.trackRelease(this.#id, kept);
    if ((await kept) === 0) throw new UploadUnknown();
  }

  async #renew(): Promise<void> {
    const begunAt = performance.now();
    const held = { id: this.#id, writer: this.#writer, seconds: leaseTimes.leaseSeconds };
    if ((await retryWhileUnavailable(() => this.#db.read((tx) => renewWriter(tx, held)))) === 0) {
      this.#leases.hashes.forget(this.#id);
      this.#localLeaseUntil = Number.NEGATIVE_INFINITY; // the next write asks again, and fails
      throw new UploadBusy();
    }
    this.#localLeaseUntil = begunAt + leaseTimes.localLeaseMs;
  }

  get #db() {
    return this.#leases.engine.app.db;
  }
}
