import { setTimeout as pause } from 'node:timers/promises';
import { GuardFailure, type GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target, UpstreamClient } from '../../clients/upstream/client.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';
import type { MinRate } from '../settings.ts';

/** Limits on the requests and bytes that one download may cost. */
const downloadLimits = {
  /** Consecutive cuts without a byte beyond the highest offset so far. */
  cutsWithoutProgress: 5,
  /** Requests to resume: this many, plus one for each `bytesPerResume`, at most `maxResumes`, since an upstream may announce any size. */
  baseResumes: 20,
  bytesPerResume: 4 * 1024 * 1024,
  maxResumes: 10_000,
  /** Received bytes as a multiple of the blob's size: an upstream that ignores Range sends the beginning again. */
  receivedPerByte: 8,
};
const downloadTimeouts = { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: Number.POSITIVE_INFINITY };

/** Requests a blob, or the rest of it, from an upstream. */
export const requestBlob = (
  client: UpstreamClient,
  target: Target,
  digest: string,
  from = 0,
  signal?: AbortSignal | undefined,
): Promise<GuardResponse> =>
  client.request(target, {
    method: 'GET',
    resource: `blobs/${digest}`,
    headers: { accept: '*/*', ...(from ? { range: `bytes=${from}-` } : {}) },
    maxBodyBytes: Number.POSITIVE_INFINITY,
    timeouts: downloadTimeouts,
    signal,
  });

/** The blob to download. */
export interface BlobDownload {
  target: Target;
  digest: string;
  size: number;
  /** The answer whose body begins the blob. */
  first: GuardResponse;
}

/** The readers of a download. */
export interface ReaderDemand {
  /** Aborted: the download ends now. */
  signal: AbortSignal;
  /** True: there were readers and all have left. A download that is cut then is not resumed. */
  isAbandoned(): boolean;
}

/** All readers left before the end of the blob. */
export class ReadersGone extends Error {
  constructor() {
    super('all of its readers left');
    this.name = 'ReadersGone';
  }
}

interface RateMeter {
  /** Yields the same chunks. Throws UpstreamUnavailable after a window with too few bytes; the idle timeout handles silence. */
  measure(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer>;
  /** Waits for the upstream and counts the time, also when the request fails. */
  wait<T>(answer: () => Promise<T>): Promise<T>;
}

/** Measures the upstream's rate by the time that a download waits for it: a slow reader does not count against the upstream. */
function makeRateMeter({ windowMs, bytesPerSecond }: MinRate, now: () => number, { host }: Target): RateMeter {
  let waitedMs = 0;
  let bytes = 0;
  const checkRate = () => {
    if (waitedMs < windowMs) return;
    if (bytes < (bytesPerSecond * windowMs) / 1000)
      throw new UpstreamUnavailable(`the upstream ${host} sent ${bytes} bytes in ${Math.round(waitedMs / 1000)} s, which is too slow`);
    waitedMs = 0;
    bytes = 0;
  };
  const wait: RateMeter['wait'] = async (answer) => {
    const began = now();
    try {
      return await answer();
    } finally {
      waitedMs += now() - began;
      checkRate();
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

/** The bytes of a blob from beginning to end. After a cut the rest is requested. `now`: a monotonic clock in milliseconds. */
export async function* downloadBlob(
  client: UpstreamClient,
  download: BlobDownload,
  demand: ReaderDemand,
  slowest: MinRate,
  now: () => number = () => performance.now(),
): AsyncGenerator<Buffer> {
  const { target, digest, size } = download;
  let answer = download.first;
  let skip = 0;
  let at = 0;
  let received = 0;
  let resumes = 0;
  let cuts = 0;
  const meter = makeRateMeter(slowest, now, target);
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
          if (at > size) throw new UpstreamUnavailable(`the upstream ${target.host} sends more than the ${size} bytes it announced`);
          if (received > size * downloadLimits.receivedPerByte)
            throw new UpstreamUnavailable(`${cutOff(target)}, and begins anew each time`);
          if (!piece.length) continue;
          cuts = 0;
          yield piece;
        }
        if (at === size) return;
        throw new GuardFailure('connection_reset', 'transfer', `${target.host} closed the connection before the end`);
      } catch (error) {
        if (demand.signal.aborted) throw new ReadersGone();
        if (!(error instanceof GuardFailure) || ++cuts >= downloadLimits.cutsWithoutProgress) throw error;
        if (++resumes > maxResumes(size))
          throw new UpstreamUnavailable(`${cutOff(target)}; it was asked ${resumes} times`, { cause: error });
        await pause(50 * 2 ** cuts);
        if (demand.signal.aborted || demand.isAbandoned()) throw new ReadersGone();
        answer = await meter.wait(() => requestBlob(client, target, digest, at, demand.signal));
        skip = skipOf(answer, target, at);
      }
    }
  } finally {
    demand.signal.removeEventListener('abort', cancel);
    cancel();
  }
}

/** Allowed resume requests for a blob of this size. */
export const maxResumes = (size: number) =>
  Math.min(downloadLimits.maxResumes, downloadLimits.baseResumes + Math.floor(size / downloadLimits.bytesPerResume));

const cutOff = ({ host }: Target) => `the upstream ${host} cuts a layer off again and again`;

/** Bytes of the answer that are already received: an upstream that ignores Range sends everything again. */
function skipOf(answer: GuardResponse, { host }: Target, at: number): number {
  if (answer.status === 200) return at;
  if (answer.status === 206 && String(answer.headers['content-range']).startsWith(`bytes ${at}-`)) return 0;
  answer.cancel();
  throw new UpstreamUnavailable(
    answer.status === 206
      ? `the upstream ${host} goes on at another place than asked`
      : `the upstream ${host} answered ${answer.status} when asked to go on`,
  );
}
