import { setTimeout as pause } from 'node:timers/promises';
import { GuardFailure, type GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target, UpstreamClient } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import type { Pace } from '../settings.ts';

/** What one blob may cost its upstream and us, however the upstream behaves. */
const bounds = {
  /** Cuts in a row without a byte past the highest one so far. */
  cutsWithoutProgress: 5,
  /** Requests for the rest of a blob: so many, and one more for each `bytesPerResume`; never more than `mostResumes`, since an upstream
   *  may announce any size. */
  resumes: 20,
  bytesPerResume: 4 * 1024 * 1024,
  mostResumes: 10_000,
  /** Bytes received, as a multiple of the blob's size: an upstream that ignores Range sends the beginning again. */
  receivedPerByte: 8,
};
const endless = { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: Number.POSITIVE_INFINITY };

/** Asks an upstream for a blob, or for the rest of it. */
export const getBlob = (
  client: UpstreamClient,
  target: Target,
  digest: string,
  from = 0,
  signal?: AbortSignal | undefined,
): Promise<GuardResponse> =>
  client.ask(target, {
    method: 'GET',
    what: `blobs/${digest}`,
    headers: { accept: '*/*', ...(from ? { range: `bytes=${from}-` } : {}) },
    maxBodyBytes: Number.POSITIVE_INFINITY,
    timeouts: endless,
    signal,
  });

/** A blob of an upstream. */
export interface Wanted {
  target: Target;
  digest: string;
  size: number;
  /** The answer whose body is the beginning of it. */
  first: GuardResponse;
}

/** Who waits for the bytes of a blob. */
export interface Demand {
  /** Aborted: the download ends now. */
  signal: AbortSignal;
  /** True: readers came, and all of them left. A download that is cut then is not resumed. */
  isGone(): boolean;
}

/** All readers of a blob left before its end. */
export class ReadersGone extends Error {
  constructor() {
    super('all of its readers left');
    this.name = 'ReadersGone';
  }
}

interface PaceMeter {
  /** The same chunks. Throws UpstreamAway after a window that brought too few bytes; the idle limit ends one without any. */
  measure(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Waits for the upstream, also in vain. */
  wait<T>(answer: () => Promise<T>): Promise<T>;
}

/** Measures how fast an upstream sends, by the time that a download waits for it: a slow reader does not count against the upstream. */
function makePaceMeter({ windowMs, bytesPerSecond }: Pace, now: () => number, { host }: Target): PaceMeter {
  let waitedMs = 0;
  let bytes = 0;
  const judge = () => {
    if (waitedMs < windowMs) return;
    if (bytes < (bytesPerSecond * windowMs) / 1000)
      throw new UpstreamAway(`the upstream ${host} sent ${bytes} bytes in ${Math.round(waitedMs / 1000)} s, which is too slow`);
    waitedMs = 0;
    bytes = 0;
  };
  const wait: PaceMeter['wait'] = async (answer) => {
    const began = now();
    try {
      return await answer();
    } finally {
      waitedMs += now() - began;
      judge();
    }
  };
  return {
    wait,
    async *measure(body) {
      const chunks = body[Symbol.asyncIterator]();
      try {
        for (;;) {
          const { done, value } = await wait(() => chunks.next());
          if (done) return;
          bytes += value.length;
          yield value;
        }
      } finally {
        await chunks.return?.();
      }
    },
  };
}

/** The bytes of a blob from beginning to end; a cut is mended by asking for the rest. `now`: a clock in milliseconds that never jumps. */
export async function* contentOf(
  client: UpstreamClient,
  wanted: Wanted,
  demand: Demand,
  slowest: Pace,
  now: () => number = () => performance.now(),
): AsyncGenerator<Buffer> {
  const { target, digest, size } = wanted;
  let answer = wanted.first;
  let skip = 0;
  let at = 0;
  let received = 0;
  let resumes = 0;
  let cuts = 0;
  const meter = makePaceMeter(slowest, now, target);
  const cancel = () => answer.cancel();
  demand.signal.addEventListener('abort', cancel);
  try {
    for (;;) {
      try {
        for await (const chunk of meter.measure(answer.body)) {
          const piece = skip ? chunk.subarray(Math.min(skip, chunk.length)) : chunk;
          skip -= chunk.length - piece.length;
          at += piece.length;
          received += chunk.length;
          if (at > size) throw new UpstreamAway(`the upstream ${target.host} sends more than the ${size} bytes it announced`);
          if (received > size * bounds.receivedPerByte) throw new UpstreamAway(`${cutOff(target)}, and begins anew each time`);
          if (!piece.length) continue;
          cuts = 0;
          yield piece;
        }
        if (at === size) return;
        throw new GuardFailure('connection_reset', 'transfer', `${target.host} closed the connection before the end`);
      } catch (error) {
        if (demand.signal.aborted) throw new ReadersGone();
        if (!(error instanceof GuardFailure) || ++cuts >= bounds.cutsWithoutProgress) throw error;
        if (++resumes > mostResumes(size)) throw new UpstreamAway(`${cutOff(target)}; it was asked ${resumes} times`, { cause: error });
        await pause(50 * 2 ** cuts);
        if (demand.signal.aborted || demand.isGone()) throw new ReadersGone();
        answer = await meter.wait(() => getBlob(client, target, digest, at, demand.signal));
        skip = skipOf(answer, target, at);
      }
    }
  } finally {
    demand.signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/** Requests for the rest of a blob of this size. */
export const mostResumes = (size: number) => Math.min(bounds.mostResumes, bounds.resumes + Math.floor(size / bounds.bytesPerResume));

const cutOff = ({ host }: Target) => `the upstream ${host} cuts a layer off again and again`;

/** How much of the answer is here already: an upstream that ignores Range sends everything again. */
function skipOf(answer: GuardResponse, { host }: Target, at: number): number {
  if (answer.status === 200) return at;
  if (answer.status === 206 && String(answer.headers['content-range']).startsWith(`bytes ${at}-`)) return 0;
  answer.cancel();
  throw new UpstreamAway(
    answer.status === 206
      ? `the upstream ${host} goes on at another place than asked`
      : `the upstream ${host} answered ${answer.status} when asked to go on`,
  );
}
