import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { GuardFailure, type GuardResponse } from '../../../../kernel/guard/index.ts';
import { evict, settledSeconds } from '../gc/evict.ts';
import { freeOf, quotaOf } from '../quota.ts';
import { algorithmOf } from '../../rules/names.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { promisedSize } from '../../store/upstreams.ts';
import type { Hashes } from '../push/hashes.ts';
import { commitBlob } from '../push/store-blob.ts';
import type { ReadableSource } from './types.ts';
import { type Target, UpstreamAway, type UpstreamClient } from '../../clients/upstream/client.ts';
import { upstreamMetricsOf } from '../upstream-metrics.ts';
import { openSpool, type Spool } from './spool.ts';

// One fetch for everybody who wants a blob, whoever asked first and whether or not they stay. It goes through a nameless file that all
// of them read as it grows, and at the same time into the storage, where it is linked once its digest is proven.

export interface BlobFetcher {
  fetch(repository: RepositoryRow, target: Target, digest: string): Promise<ReadableSource | undefined>;
  /** How large it is, without fetching it. */
  sizeOf(repository: RepositoryRow, target: Target, digest: string): Promise<number | undefined>;
}

const attempts = 5;
const graceMs = 5_000;
const endless = { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: Number.POSITIVE_INFINITY };

export function makeBlobFetcher(app: App, client: UpstreamClient): BlobFetcher {
  const flights = new Map<string, Promise<ReadableSource | undefined>>();

  const get = (target: Target, digest: string, from = 0) =>
    client.ask(target, {
      method: 'GET',
      what: `blobs/${digest}`,
      headers: { accept: '*/*', ...(from ? { range: `bytes=${from}-` } : {}) },
      maxBodyBytes: Number.POSITIVE_INFINITY,
      timeouts: endless,
    });

  /** The bytes from beginning to end; a cut is mended by asking for the rest. */
  async function* content(target: Target, digest: string, size: number, first: GuardResponse): AsyncGenerator<Buffer> {
    let answer = first;
    let skip = 0;
    let at = 0;
    for (let failures = 0; ; ) {
      try {
        for await (const chunk of answer.body) {
          const piece = skip ? chunk.subarray(Math.min(skip, chunk.length)) : chunk;
          skip -= chunk.length - piece.length;
          at += piece.length;
          if (at > size) throw new UpstreamAway(`the upstream ${target.host} sends more than the ${size} bytes it announced`);
          failures = 0;
          if (piece.length) yield piece;
        }
        if (at === size) return;
        throw new GuardFailure('connection_reset', 'transfer', `${target.host} closed the connection before the end`);
      } catch (error) {
        if (!(error instanceof GuardFailure) || ++failures >= attempts) throw error;
        await pause(50 * 2 ** failures);
        answer = await get(target, digest, at);
        // A server that knows no ranges sends everything again.
        skip = answer.status === 206 ? 0 : at;
        if (answer.status !== 206 && answer.status !== 200)
          throw new UpstreamAway(`the upstream ${target.host} answered ${answer.status} when asked to go on`);
        if (answer.status === 206 && !String(answer.headers['content-range']).startsWith(`bytes ${at}-`))
          throw new UpstreamAway(`the upstream ${target.host} goes on at another place than asked`);
      }
    }
  }

  const fill = async (repository: RepositoryRow, target: Target, digest: string, size: number, first: GuardResponse, spool: Spool) => {
    const hash = createHash(algorithmOf(digest));
    async function* passing(): AsyncGenerator<Buffer> {
      for await (const chunk of content(target, digest, size, first)) {
        hash.update(chunk);
        await spool.write(chunk);
        yield chunk;
      }
    }
    // A registry without room still serves its readers; it just keeps nothing.
    const quota = await app.db.read((tx) => quotaOf(tx, repository.registry_id));
    const fits = quota && (freeOf(quota) >= size || (await evict(app, repository.registry_id, size, settledSeconds)));
    const uploadId = fits ? await app.storage.createUpload() : undefined;
    try {
      if (uploadId) await app.storage.append(uploadId, 0, passing());
      else for await (const _ of passing());
      const seen = `${algorithmOf(digest)}:${hash.digest('hex')}`;
      if (seen !== digest) throw new UpstreamAway(`the upstream ${target.host} sent content with the digest ${seen} for ${digest}`);
      spool.finish();
      if (uploadId) await commitBlob(app, alreadyHashed(seen), repository, { uploadId, digest, size }, { cached: true });
    } catch (error) {
      if (uploadId) await app.storage.abort(uploadId).catch(() => {});
      throw error;
    }
  };

  /** As the answer announces it and the repository's images promise it; at least one of them must, and neither contradict the other. */
  const sizeIn = async (answer: GuardResponse, repository: RepositoryRow, target: Target, digest: string): Promise<number> => {
    const promised = await app.db.read((tx) => promisedSize(tx, repository.id, digest));
    const announced = answer.headers['content-length'] === undefined ? promised : Number(answer.headers['content-length']);
    if (announced !== undefined && Number.isSafeInteger(announced) && (promised === undefined || promised === announced)) return announced;
    answer.cancel();
    throw new UpstreamAway(
      `the upstream ${target.host} announces ${announced ?? 'no'} bytes for a blob${promised === undefined ? '' : ` of ${promised}`}`,
    );
  };

  const sizeOf: BlobFetcher['sizeOf'] = async (repository, target, digest) => {
    const running = flights.get(`${repository.id} ${digest}`);
    if (running) return (await running)?.size;
    // Where a redirect leads is signed for GET alone (S3), so it is not followed: that there is one says that the blob is there.
    const answer = await client.ask(target, { method: 'HEAD', what: `blobs/${digest}`, headers: { accept: '*/*' }, maxRedirects: 0 });
    answer.cancel();
    if (isNothing(answer.status)) return undefined;
    if (answer.status === 200 && answer.headers['content-length'] !== undefined) return sizeIn(answer, repository, target, digest);
    const promised = await app.db.read((tx) => promisedSize(tx, repository.id, digest));
    if (promised !== undefined && answer.status < 400) return promised;
    const begun = await get(target, digest); // its headers say; its body is not taken
    begun.cancel();
    if (isNothing(begun.status)) return undefined;
    if (begun.status !== 200) throw new UpstreamAway(`the upstream ${target.host} answered ${begun.status} for a blob`);
    return sizeIn(begun, repository, target, digest);
  };

  const start = async (
    repository: RepositoryRow,
    target: Target,
    digest: string,
    over: () => void,
  ): Promise<ReadableSource | undefined> => {
    const answer = await get(target, digest);
    if (answer.status !== 200) {
      answer.cancel();
      if (isNothing(answer.status)) return undefined;
      throw new UpstreamAway(`the upstream ${target.host} answered ${answer.status} for a blob`);
    }
    const announced = await sizeIn(answer, repository, target, digest);
    const spool = await openSpool(join(app.config.data, 'spool'), announced);
    const count = (result: string) => upstreamMetricsOf(app).blobs.inc({ upstream: target.host, result });
    void fill(repository, target, digest, announced, answer, spool)
      .then(() => count('whole'))
      .catch((error) => {
        count('failed');
        spool.fail(error);
        app.log.warn(
          { upstream: target.host, repository: repository.name, digest, error: (error as Error).message },
          'a blob could not be cached',
        );
      })
      .finally(() => {
        over();
        // Whoever was given the source a moment ago has yet to open it.
        setTimeout(() => void spool.release(), graceMs).unref();
      });
    return { size: announced, open: async (range) => Readable.from(spool.read(range), { objectMode: false }) };
  };

  const fetch: BlobFetcher['fetch'] = (repository, target, digest) => {
    const key = `${repository.id} ${digest}`;
    const running = flights.get(key);
    if (running) return running;
    const over = () => flights.delete(key);
    const begun = start(repository, target, digest, over);
    flights.set(key, begun);
    begun.then((found) => !found && over(), over);
    return begun;
  };
  return { fetch, sizeOf };
}

const isNothing = (status: number) => status === 404 || status === 401 || status === 403;

/** The whole content was hashed on its way. */
const alreadyHashed = (digest: string): Hashes => ({
  begin: () => {},
  through: (_id, _offset, body) => body,
  digest: () => digest,
  forget: () => {},
});
