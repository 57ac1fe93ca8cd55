import { join } from 'node:path';
import { Readable } from 'node:stream';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';
import { quotaOf } from '../../store/quota.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { declaredSize } from '../../store/upstreams.ts';
import { freeBytes } from '../quota.ts';
import { type BlobDownload, type ReaderDemand, ReadersGone, requestBlob } from './download.ts';
import { fillCache, passThrough } from './fill.ts';
import { reserveFill } from './fill-reservation.ts';
import { makePassThroughLimit, type PassThroughLimit } from './pass-through-limit.ts';
import { openSpool } from './spool.ts';
import type { ReadableSource, Upstreams } from './types.ts';

// One fetch for all clients that want a blob; it continues when the first client leaves. The bytes go to an unnamed spool file, which all
// readers follow, and to the storage, where the blob is linked once its digest is verified. Both copies are reserved in the quota before
// the first byte. Without that quota each reader gets its own pass-through download, and nothing is kept. Pass-through downloads are
// limited per organization, and the limit is checked before the upstream is asked.

export interface BlobFetcher {
  fetch(repository: RepositoryRow, target: Target, digest: string): Promise<ReadableSource | undefined>;
  /** The size of the blob, without fetching it. */
  sizeOf(repository: RepositoryRow, target: Target, digest: string): Promise<number | undefined>;
}

/** Time that a client has to open a source it was given. */
const openWithinMs = 1_000;
/** A download without readers continues for this long, because the next client may want it. */
const unreadTimeoutMs = 60_000;

export function makeBlobFetcher(upstreams: Upstreams): BlobFetcher {
  const passThroughLimit = makePassThroughLimit();
  const inFlight = new Map<string, Promise<ReadableSource | undefined>>();
  return {
    fetch: (repository, target, digest) => {
      const key = `${repository.id} ${digest}`;
      const running = inFlight.get(key);
      if (running) return running;
      const onEnd = () => inFlight.delete(key);
      const begun = beginFetch({ upstreams, passThroughLimit, repository, target, digest, onEnd });
      inFlight.set(key, begun);
      begun.then((found) => !found && onEnd(), onEnd);
      return begun;
    },
    sizeOf: async (repository, target, digest) => {
      const running = inFlight.get(`${repository.id} ${digest}`);
      return running ? (await running)?.size : askForSize(upstreams, repository, target, digest);
    },
  };
}

const isMissing = (status: number) => status === 404 || status === 401 || status === 403;

interface BlobFetch {
  upstreams: Upstreams;
  passThroughLimit: PassThroughLimit;
  repository: RepositoryRow;
  target: Target;
  digest: string;
  /** Called when the fetch has ended. */
  onEnd: () => void;
}

/** A blob that may not fit the quota takes a pass-through slot before the upstream is asked. */
async function beginFetch(fetch: BlobFetch): Promise<ReadableSource | undefined> {
  const releaseSlot = (await hasQuotaFor(fetch)) ? undefined : fetch.passThroughLimit.acquire(fetch.repository.org_id);
  try {
    return await startFetch(fetch, releaseSlot);
  } catch (error) {
    releaseSlot?.();
    throw error;
  }
}

/** Whether the blob's size is known and its two copies fit the quota. */
const hasQuotaFor = ({ upstreams, repository, digest }: BlobFetch): Promise<boolean> =>
  upstreams.app.db.read(async (tx) => {
    const [size, quota] = await Promise.all([declaredSize(tx, repository.id, digest), quotaOf(tx, repository.registry_id)]);
    return size !== undefined && quota !== undefined && freeBytes(quota) >= 2 * size;
  });

/**
 * Starts a fetch, which runs until `onEnd` is called. Undefined: the upstream has no such blob. `releaseSlot`: set when the fetch holds a
 * pass-through slot.
 */
async function startFetch(fetch: BlobFetch, releaseSlot: (() => void) | undefined): Promise<ReadableSource | undefined> {
  const { upstreams, passThroughLimit, repository, target, digest, onEnd } = fetch;
  const { app, client, metrics } = upstreams;
  const first = await requestBlob(client, target, digest);
  if (first.status !== 200) {
    first.cancel();
    releaseSlot?.();
    if (isMissing(first.status)) return undefined;
    throw new UpstreamUnavailable(`the upstream ${target.host} answered ${first.status} for a blob`);
  }
  const size = await sizeIn(upstreams, first, repository, target, digest);
  const download = { target, digest, size, first };
  const giveUp = (error: unknown): never => {
    first.cancel();
    throw error;
  };
  const reservation = await reserveFill(upstreams, repository, size).catch(giveUp);
  const count = (result: string) => metrics.cacheFills.inc({ upstream: target.host, result });
  const acquireSlot = async () => passThroughLimit.acquire(repository.org_id);
  if (!reservation) {
    onEnd(); // the next client starts a fetch of its own
    const place = releaseSlot ?? (await acquireSlot().catch(giveUp));
    count('passed');
    return passThroughSource(upstreams, download, place, acquireSlot);
  }
  releaseSlot?.();
  const unread = abortWhenUnread();
  const events = { closed: () => void reservation.releaseSpool(), readers: unread.count };
  const spool = await openSpool(join(app.config.data, 'spool'), size, events).catch(async (error) => {
    first.cancel();
    unread.stop();
    await Promise.all([reservation.releaseStorage(), reservation.releaseSpool()]);
    throw error;
  });
  const demand = { signal: unread.signal, isAbandoned: spool.isAbandoned };
  void fillCache(upstreams, { ...download, repository, spool, reservation, demand })
    .then(() => count('whole'))
    .catch((error) => {
      count('failed');
      spool.fail(error);
      const level = error instanceof ReadersGone ? 'debug' : 'warn';
      app.log[level](
        { upstream: target.host, repository: repository.name, digest, error: (error as Error).message },
        'a blob could not be cached',
      );
    })
    .finally(() => {
      onEnd();
      unread.stop();
      // A client that was just given the source has not opened it yet.
      setTimeout(() => void spool.release(), openWithinMs).unref();
    });
  return {
    size,
    open: async (range) => streamOf((leaving) => spool.read(range, leaving)),
  };
}

/** A stream whose generator is notified when the reader leaves. Readable.from alone would wait for the next chunk, which may never come. */
function streamOf(generate: (leaving: AbortSignal) => AsyncGenerator<Buffer>): Readable {
  const leaving = new AbortController();
  const stream = Readable.from(generate(leaving.signal), { objectMode: false });
  const destroy = stream._destroy;
  stream._destroy = (error, done) => {
    leaving.abort();
    destroy.call(stream, error, done);
  };
  return stream;
}

/** Aborts a download that has had no reader for `unreadTimeoutMs`. */
function abortWhenUnread(): { signal: AbortSignal; count(readers: number): void; stop(): void } {
  const abort = new AbortController();
  const arm = () => setTimeout(() => abort.abort(), unreadTimeoutMs).unref();
  let timer: NodeJS.Timeout | undefined = arm();
  let isOver = false;
  const disarm = () => {
    clearTimeout(timer);
    timer = undefined;
  };
  return {
    signal: abort.signal,
    count: (readers) => {
      disarm();
      if (readers === 0 && !isOver) timer = arm();
    },
    stop: () => {
      isOver = true;
      disarm();
    },
  };
}

/** For a registry without quota for the blob: each reader downloads from the upstream, and nothing is written to the disk. */
function passThroughSource(
  upstreams: Upstreams,
  download: BlobDownload,
  releaseSlot: () => void,
  acquireSlot: () => Promise<() => void>,
): ReadableSource {
  const { size, first } = download;
  let opened = false;
  const forget = () => {
    if (opened) return;
    opened = true;
    first.cancel();
    releaseSlot();
  };
  setTimeout(forget, openWithinMs).unref();
  /** Several clients may have waited for the first answer; each further one sends a request of its own. */
  const askAgain = async () => {
    const leave = await acquireSlot();
    const answer = await requestBlob(upstreams.client, download.target, download.digest).catch((error) => {
      leave();
      throw error;
    });
    if (answer.status === 200) return { answer, leave };
    answer.cancel();
    leave();
    throw new UpstreamUnavailable(`the upstream ${download.target.host} answered ${answer.status} for a blob`);
  };
  return {
    size,
    open: async (range = { offset: 0, length: size }) => {
      const isFirst = !opened;
      opened = true;
      const { answer, leave } = isFirst ? { answer: first, leave: releaseSlot } : await askAgain();
      const stream = streamOf((leaving) => {
        const demand: ReaderDemand = { signal: leaving, isAbandoned: () => leaving.aborted };
        return passThrough(upstreams, { ...download, first: answer }, range, demand);
      });
      return stream.once('close', guarded('registry.pull-through.blobs.close', stream, leave));
    },
  };
}

async function askForSize(upstreams: Upstreams, repository: RepositoryRow, target: Target, digest: string): Promise<number | undefined> {
  const { app, client } = upstreams;
  // A redirect may be signed for GET alone (S3), so it is not followed. Its presence shows that the blob exists.
  const answer = await client.request(target, { method: 'HEAD', resource: `blobs/${digest}`, headers: { accept: '*/*' }, maxRedirects: 0 });
  answer.cancel();
  if (answer.status === 200 && answer.headers['content-length'] !== undefined) return sizeIn(upstreams, answer, repository, target, digest);
  const promised = await app.db.read((tx) => declaredSize(tx, repository.id, digest));
  if (promised !== undefined && answer.status < 400) return promised;
  const begun = await requestBlob(client, target, digest); // only its headers are used
  begun.cancel();
  if (isMissing(begun.status)) return undefined;
  if (begun.status !== 200) throw new UpstreamUnavailable(`the upstream ${target.host} answered ${begun.status} for a blob`);
  return sizeIn(upstreams, begun, repository, target, digest);
}

/** The size by Content-Length and by the images of the repository. At least one must be known, and they must agree. */
async function sizeIn(
  { app }: Upstreams,
  answer: GuardResponse,
  repository: RepositoryRow,
  target: Target,
  digest: string,
): Promise<number> {
  const promised = await app.db.read((tx) => declaredSize(tx, repository.id, digest));
  const announced = answer.headers['content-length'] === undefined ? promised : Number(answer.headers['content-length']);
  if (announced !== undefined && Number.isSafeInteger(announced) && (promised === undefined || promised === announced)) return announced;
  answer.cancel();
  throw new UpstreamUnavailable(
    `the upstream ${target.host} announces ${announced ?? 'no'} bytes for a blob${promised === undefined ? '' : ` of ${promised}`}`,
  );
}
