import type { IncomingMessage, ServerResponse } from 'node:http';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { ApiError, tooMany } from '../../rules/kubernetes/status.ts';
import { estimateWrite, type WriteEstimate } from '../../rules/process/write-size.ts';

// How much the store of a cluster may still take. All of it is weighed once a minute. In between, what writes may have kept is added up, and before
// that could be too much, the store is looked at: only what came since.

export interface MeasuredStore {
  bytes: number;
  /** The last revision that is in it. */
  last: number;
}

export interface Capacity {
  /** As it was last looked at. */
  usedBytes(): number;
  maxBytes(): number;
  /** Whether one more write of so many bytes could lead past this, for all that is known. */
  mayExceed(limit: number, bytes: number): boolean;
  /** What may come of writes that make something and have no answers yet. */
  pendingNewBytes(): number;
  /** From now on, until it has its answer, this may be kept. */
  reserve(write: WriteEstimate): () => void;
  /** Returns once it is known what was there at this moment. */
  refresh(): Promise<void>;
  /** The same, and weighs everything. */
  remeasure<T extends MeasuredStore>(all: () => Promise<T>): Promise<T>;
}

/** `since`: what came after a revision; everything, if there is none. */
export function makeCapacity(maxBytes: () => number, measureSince: (last: number | undefined) => Promise<MeasuredStore>): Capacity {
  let known: MeasuredStore | undefined;
  const pending = { new: 0, change: 0, heartbeat: 0 };
  /** Of writes that had their answers after the last look began. */
  let unseen = 0;
  let turn: Promise<unknown> = Promise.resolve();
  /** One that has not begun yet: whoever comes meanwhile waits for it. */
  let queued: Promise<void> | undefined;

  /** One look after the other. */
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

/** Nothing new is made in a store that is full; what is there may be changed and deleted, and questions are no objects. Once it is twice as full as
 *  it may be, changes pass no more, however small: each keeps what was before it, until it is compacted. But nodes go on saying that they live, up to
 *  four times as much: a tenant can write leases, too. */
const limitFactors = { new: 1, change: 2, heartbeat: 4 };
const limitFor = ({ kind }: WriteEstimate, maxBytes: number): number => limitFactors[kind] * maxBytes;

/** Throws, or rejects, when there is no room for what a request writes. Undefined: it may go on at once. */
export function admitWrite(capacity: Capacity, request: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
  const { method = '', url = '', headers } = request;
  const write = estimateWrite(method, url, headers);
  if (!write) return undefined;
  const limit = limitFor(write, capacity.maxBytes());
  if (capacity.usedBytes() > limit) throw storeFull(capacity);
  const fits = !capacity.mayExceed(limit, write.bytes);
  const ahead = capacity.pendingNewBytes();
  response.once('close', guarded('clusters.process.capacity.close', response, capacity.reserve(write)));
  return fits ? undefined : capacity.refresh().then(() => checkCapacity(capacity, write, limit, ahead));
}

/** Of several that make something at the same moment, those pass for which there is room beside the ones before them. */
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
