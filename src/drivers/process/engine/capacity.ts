import { ApiError, tooMany } from '../../status.ts';
import type { WriteEstimate } from '../rules/write-size.ts';

// How many bytes a cluster's store may still take. The whole store is measured once a minute. Between measurements the sizes of admitted writes
// are summed up. When that sum could exceed the limit, the rows since the last measured revision are measured first.

export interface MeasuredStore {
  bytes: number;
  /** The last revision that is included. */
  last: number;
}

export interface Capacity {
  /** As last measured. */
  usedBytes(): number;
  maxBytes(): number;
  /** Whether one more write of this size could exceed the limit, counting every write since the last measurement. */
  mayExceed(limit: number, bytes: number): boolean;
  /** Bytes of creating writes that are still in flight. */
  pendingNewBytes(): number;
  /** Reserves the bytes of a write until the returned function is called with its response. */
  reserve(write: WriteEstimate): () => void;
  /** Resolves once everything written before this call is measured. */
  refresh(): Promise<void>;
  /** The same, with a measurement of the whole store. */
  remeasure<T extends MeasuredStore>(all: () => Promise<T>): Promise<T>;
}

/** `measureSince` measures the rows after a revision; all rows without one. */
export function makeCapacity(maxBytes: () => number, measureSince: (last: number | undefined) => Promise<MeasuredStore>): Capacity {
  let known: MeasuredStore | undefined;
  const pending = { new: 0, change: 0, heartbeat: 0 };
  /** Bytes of writes that were answered after the last measurement began. */
  let unseen = 0;
  let turn: Promise<unknown> = Promise.resolve();
  /** A measurement that has not begun yet; later callers share it. */
  let queued: Promise<void> | undefined;

  /** Measurements run one after the other. */
  const measureInTurn = <T extends MeasuredStore>(find: () => Promise<T>, combine: (found: T) => MeasuredStore): Promise<T> => {
    const done = turn
      .catch(() => {})
      .then(async () => {
        const seen = unseen;
        const found = await find();
        unseen -= seen;
        known = combine(found);
        return found;
      });
    turn = done;
    return done;
  };
  const measureRest = () => {
    queued = undefined;
    return measureSince(known?.last);
  };
  return {
    usedBytes: () => known?.bytes ?? 0,
    maxBytes,
    mayExceed: (limit, bytes) =>
      known === undefined || known.bytes + unseen + pending.new + pending.change + pending.heartbeat + bytes > limit,
    pendingNewBytes: () => pending.new,
    reserve({ kind, bytes }) {
      pending[kind] += bytes;
      return () => {
        pending[kind] -= bytes;
        unseen += bytes;
      };
    },
    refresh() {
      queued ??= measureInTurn(measureRest, ({ bytes, last }) => ({ bytes: bytes + (known?.bytes ?? 0), last })).then(() => {});
      return queued;
    },
    remeasure: (all) => measureInTurn(all, ({ bytes, last }) => ({ bytes, last })),
  };
}

/** A full store refuses creations; changes, deletions and reviews pass. At twice the limit changes are refused too: each one keeps the previous
 *  revision until compaction. Heartbeats of nodes pass up to four times the limit. They have a limit because a tenant can write leases too. */
const limitFactors = { new: 1, change: 2, heartbeat: 4 };
const limitFor = ({ kind }: WriteEstimate, maxBytes: number): number => limitFactors[kind] * maxBytes;

/** Reserves room for a write. Throws when the store has none; otherwise `measured` rejects if a new measurement shows that it has none.
 *  Without `measured` there is certainly room. `release` is called with the response. */
export function admit(capacity: Capacity, write: WriteEstimate): { release: () => void; measured: Promise<void> | undefined } {
  checkRoom(capacity, write);
  const limit = limitFor(write, capacity.maxBytes());
  const fits = !capacity.mayExceed(limit, write.bytes);
  const ahead = capacity.pendingNewBytes();
  const release = capacity.reserve(write);
  return { release, measured: fits ? undefined : capacity.refresh().then(() => checkCapacity(capacity, write, limit, ahead)) };
}

/** Throws when the store has no room, as last measured. Reserves nothing. */
export function checkRoom(capacity: Capacity, write: WriteEstimate): void {
  if (capacity.usedBytes() > limitFor(write, capacity.maxBytes())) throw storeFull(capacity);
}

/** Of several concurrent creations, those pass that fit beside the ones admitted before them. */
export function checkCapacity(capacity: Capacity, { kind, bytes }: WriteEstimate, limit: number, ahead: number): void {
  if (capacity.usedBytes() > limit) throw storeFull(capacity);
  if (kind === 'new' && ahead > 0 && capacity.usedBytes() + ahead + bytes > limit)
    throw tooMany('the cluster’s store is nearly full, and others write to it at this moment; try again in a moment');
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

const storeFull = ({ usedBytes, maxBytes }: Capacity) =>
  new ApiError(
    403,
    'Forbidden',
    `the cluster's objects take ${mebibytes(usedBytes())}, and its tier has room for ${mebibytes(maxBytes())}; delete some, or choose a larger tier`,
  );
