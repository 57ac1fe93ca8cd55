import { join } from 'node:path';
import { Readable } from 'node:stream';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import { quotaOf } from '../../store/quota.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { promisedSize } from '../../store/upstreams.ts';
import { freeOf } from '../quota.ts';
import { type Demand, getBlob, ReadersGone, type Wanted } from './content.ts';
import { fillCache, passOn } from './fill.ts';
import { makePassing, type Passing } from './passing.ts';
import { reserveFill } from './room.ts';
import { openSpool } from './spool.ts';
import type { ReadableSource, Upstreams } from './types.ts';

// One fetch for everybody who wants a blob, whoever asked first and whether or not they stay. It goes through a nameless file that all
// of them read as it grows, and at the same time into the storage, where it is linked once its digest is proven. Both count in the
// quota from before the first byte; without that room each reader gets the bytes as they come, and none is kept. So many of an
// organization do at once, which is asked before the upstream is.

export interface BlobFetcher {
  fetch(repository: RepositoryRow, target: Target, digest: string): Promise<ReadableSource | undefined>;
  /** How large it is, without fetching it. */
  sizeOf(repository: RepositoryRow, target: Target, digest: string): Promise<number | undefined>;
}

/** How long a client that was given a source may take until it opens it. */
const graceMs = 1_000;
/** A download that no client reads is worth finishing for the next one, but not for longer than this. */
const unreadMs = 60_000;

export function makeBlobFetcher(upstreams: Upstreams): BlobFetcher {
  const passing = makePassing();
  const flights = new Map<string, Promise<ReadableSource | undefined>>();
  return {
    fetch: (repository, target, digest) => {
      const key = `${repository.id} ${digest}`;
      const running = flights.get(key);
      if (running) return running;
      const over = () => flights.delete(key);
      const begun = beginFetch({ upstreams, passing, repository, target, digest, over });
      flights.set(key, begun);
      begun.then((found) => !found && over(), over);
      return begun;
    },
    sizeOf: async (repository, target, digest) => {
      const running = flights.get(`${repository.id} ${digest}`);
      return running ? (await running)?.size : askForSize(upstreams, repository, target, digest);
    },
  };
}

const isNothing = (status: number) => status === 404 || status === 401 || status === 403;

interface Flight {
  upstreams: Upstreams;
  passing: Passing;
  repository: RepositoryRow;
  target: Target;
  digest: string;
  /** Called when it has ended. */
  over: () => void;
}

/** What may have to be passed on has its place among those before the upstream is asked. */
async function beginFetch(flight: Flight): Promise<ReadableSource | undefined> {
  const place = (await isRoomFor(flight)) ? undefined : flight.passing.enter(flight.repository.org_id);
  try {
    return await startFetch(flight, place);
  } catch (error) {
    place?.();
    throw error;
  }
}

/** Whether it is known how large the blob is, and that it can be kept as things are. */
const isRoomFor = ({ upstreams, repository, digest }: Flight): Promise<boolean> =>
  upstreams.app.db.read(async (tx) => {
    const [size, quota] = await Promise.all([promisedSize(tx, repository.id, digest), quotaOf(tx, repository.registry_id)]);
    return size !== undefined && quota !== undefined && freeOf(quota) >= 2 * size;
  });

/** Begins to fetch a blob, which goes on by itself until `over` is called. Undefined: the upstream has none. `leave`: it has a place among
 *  what is passed on. */
async function startFetch(flight: Flight, leave: (() => void) | undefined): Promise<ReadableSource | undefined> {
  const { upstreams, passing, repository, target, digest, over } = flight;
  const { app, client, metrics } = upstreams;
  const first = await getBlob(client, target, digest);
  if (first.status !== 200) {
    first.cancel();
    leave?.();
    if (isNothing(first.status)) return undefined;
    throw new UpstreamAway(`the upstream ${target.host} answered ${first.status} for a blob`);
  }
  const size = await sizeIn(upstreams, first, repository, target, digest);
  const wanted = { target, digest, size, first };
  const giveUp = (error: unknown): never => {
    first.cancel();
    throw error;
  };
  const room = await reserveFill(upstreams, repository, size).catch(giveUp);
  const count = (result: string) => metrics.cacheFills.inc({ upstream: target.host, result });
  const enter = async () => passing.enter(repository.org_id);
  if (!room) {
    over(); // whoever asks next has a fetch of their own
    const place = leave ?? (await enter().catch(giveUp));
    count('passed');
    return passedOn(upstreams, wanted, place, enter);
  }
  leave?.();
  const unread = abortWhenUnread();
  const events = { closed: () => void room.releaseSpool(), readers: unread.count };
  const spool = await openSpool(join(app.config.data, 'spool'), size, events).catch(async (error) => {
    first.cancel();
    unread.stop();
    await Promise.all([room.releaseStored(), room.releaseSpool()]);
    throw error;
  });
  const demand = { signal: unread.signal, isGone: spool.isAbandoned };
  void fillCache(upstreams, { ...wanted, repository, spool, room, demand })
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
      over();
      unread.stop();
      // Whoever was given the source a moment ago has yet to open it.
      setTimeout(() => void spool.release(), graceMs).unref();
    });
  return {
    size,
    open: async (range) => streamOf((leaving) => spool.read(range, leaving)),
  };
}

/** A stream whose generator is told at once when its reader leaves. Readable.from alone would wait for the generator's next chunk, which
 *  may never come. */
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

/** Aborts once a download has had no reader for `unreadMs`. */
function abortWhenUnread(): { signal: AbortSignal; count(readers: number): void; stop(): void } {
  const abort = new AbortController();
  const arm = () => setTimeout(() => abort.abort(), unreadMs).unref();
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

/** A registry without room still serves its readers, each from the upstream itself; nothing of it is on the disk. */
function passedOn(upstreams: Upstreams, wanted: Wanted, place: () => void, enter: () => Promise<() => void>): ReadableSource {
  const { size, first } = wanted;
  let opened = false;
  const forget = () => {
    if (opened) return;
    opened = true;
    first.cancel();
    place();
  };
  setTimeout(forget, graceMs).unref();
  /** Several may have waited for the first one's answer: the others ask for themselves. */
  const askAgain = async () => {
    const leave = await enter();
    const answer = await getBlob(upstreams.client, wanted.target, wanted.digest).catch((error) => {
      leave();
      throw error;
    });
    if (answer.status === 200) return { answer, leave };
    answer.cancel();
    leave();
    throw new UpstreamAway(`the upstream ${wanted.target.host} answered ${answer.status} for a blob`);
  };
  return {
    size,
    open: async (range = { offset: 0, length: size }) => {
      const isFirst = !opened;
      opened = true;
      const { answer, leave } = isFirst ? { answer: first, leave: place } : await askAgain();
      const stream = streamOf((leaving) => {
        const demand: Demand = { signal: leaving, isGone: () => leaving.aborted };
        return passOn(upstreams, { ...wanted, first: answer }, range, demand);
      });
      return stream.once('close', guarded('registry.pull-through.blobs.close', stream, leave));
    },
  };
}

async function askForSize(upstreams: Upstreams, repository: RepositoryRow, target: Target, digest: string): Promise<number | undefined> {
  const { app, client } = upstreams;
  // Where a redirect leads is signed for GET alone (S3), so it is not followed: that there is one says that the blob is there.
  const answer = await client.ask(target, { method: 'HEAD', what: `blobs/${digest}`, headers: { accept: '*/*' }, maxRedirects: 0 });
  answer.cancel();
  if (answer.status === 200 && answer.headers['content-length'] !== undefined) return sizeIn(upstreams, answer, repository, target, digest);
  const promised = await app.db.read((tx) => promisedSize(tx, repository.id, digest));
  if (promised !== undefined && answer.status < 400) return promised;
  const begun = await getBlob(client, target, digest); // its headers say; its body is not taken
  begun.cancel();
  if (isNothing(begun.status)) return undefined;
  if (begun.status !== 200) throw new UpstreamAway(`the upstream ${target.host} answered ${begun.status} for a blob`);
  return sizeIn(upstreams, begun, repository, target, digest);
}

/** As the answer announces it and the repository's images promise it; at least one of them must, and neither contradict the other. */
async function sizeIn(
  { app }: Upstreams,
  answer: GuardResponse,
  repository: RepositoryRow,
  target: Target,
  digest: string,
): Promise<number> {
  const promised = await app.db.read((tx) => promisedSize(tx, repository.id, digest));
  const announced = answer.headers['content-length'] === undefined ? promised : Number(answer.headers['content-length']);
  if (announced !== undefined && Number.isSafeInteger(announced) && (promised === undefined || promised === announced)) return announced;
  answer.cancel();
  throw new UpstreamAway(
    `the upstream ${target.host} announces ${announced ?? 'no'} bytes for a blob${promised === undefined ? '' : ` of ${promised}`}`,
  );
}
