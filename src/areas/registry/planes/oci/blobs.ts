import { gather } from '../../../../kernel/growing-buffer.ts';
import { watchesItself } from '../../../../kernel/http/connections.ts';
import * as deletion from '../../engine/deletion.ts';
import type { ReadableSource } from '../../engine/pull-through/types.ts';
import { may } from '../../rules/access.ts';
import { isDigest } from '../../rules/names.ts';
import { rangeOf } from '../../rules/range.ts';
import type { BlobRow } from '../../store/blobs.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { allow, type Call, knownRepository, type Place, permit, refuseCached, repositoryAt } from './call.ts';
import { OciError } from './errors.ts';
import { makeSmallBlob } from './remembered.ts';
import { sendStream } from './send.ts';
import { watchAccess } from './watch.ts';

/** Configs and signatures: small, and asked for again and again. */
const smallest = 64 * 1024;
/** Whoever is sent to the storage goes there at once; a longer life would only help who finds the address in a log. */
const presignedSeconds = 30;

const blobUnknown = (digest: string): never => {
  throw new OciError('BLOB_UNKNOWN', `the repository has no blob ${digest}`);
};

const checkDigest = (digest: string) => {
  if (!isDigest(digest)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
};

export async function getBlob(call: Call, name: string, digest: string): Promise<void> {
  const place = permit(call.plane, call.access, name, ['pull']);
  checkDigest(digest);
  const repository = await knownRepository(call, place);
  const head = call.method === 'HEAD';
  // Nobody pushes to what caches an upstream, so there nobody relies on the answer.
  const relies = head && !call.plane.cache?.hostOf(place.repository);
  const blob = relies ? await call.plane.places.relyOn(repository, digest) : await call.plane.places.blob(repository, digest);
  if (!blob) return fromUpstream(call, place, repository, digest);
  await answerBlob(call, place, repository, blob);
}

async function answerBlob(call: Call, place: Place, repository: RepositoryRow, blob: BlobRow): Promise<void> {
  if (!prepare(call, blob.size, blob.digest)) return;
  if (call.method === 'HEAD') return void call.response.end();
  await sendBlob(call, place, repository, blob);
}

/** Headers and status for a content of this size. False: the answer has been sent already. */
function prepare({ request, response }: Call, size: number, digest: string): boolean {
  response.setHeader('Docker-Content-Digest', digest);
  response.setHeader('ETag', `"${digest}"`);
  response.setHeader('Cache-Control', 'max-age=31536000, immutable');
  response.setHeader('Accept-Ranges', 'bytes');
  response.setHeader('Content-Type', 'application/octet-stream');
  response.setHeader('Content-Security-Policy', 'sandbox');
  const match = request.headers['if-none-match'];
  if (match !== undefined && (match.includes(digest) || match === '*')) {
    response.statusCode = 304;
    response.end();
    return false;
  }
  const range = rangeOf(request.headers.range, size);
  if (range === 'unsatisfiable') {
    throw new OciError('SIZE_INVALID', `the blob has ${size} bytes; ask for a range within them`, {
      status: 416,
      headers: { 'Content-Range': `bytes */${size}` },
    });
  }
  if (range) {
    response.statusCode = 206;
    response.setHeader('Content-Range', `bytes ${range.offset}-${range.offset + range.length - 1}/${size}`);
  }
  response.setHeader('Content-Length', range ? range.length : size);
  return true;
}

/** A refusal must not look like the content, which may be kept for a year. */
async function orUnprepared<T>(call: Call, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!call.response.headersSent) unprepare(call);
    throw error;
  }
}

/** There is no such content after all, or not now. */
function unprepare({ response }: Call) {
  for (const header of ['Content-Length', 'Content-Range', 'ETag', 'Cache-Control', 'Accept-Ranges', 'Docker-Content-Digest'])
    response.removeHeader(header);
}

async function sendBlob(call: Call, place: Place, repository: RepositoryRow, blob: BlobRow): Promise<void> {
  const { plane, request, response } = call;
  const { storage } = plane.app;
  const asked = rangeOf(request.headers.range, blob.size);
  const range = asked === 'unsatisfiable' ? undefined : asked;
  const count = (bytes: number) => plane.metrics.bytes.series(place.slug, 'out').count(bytes);

  const remembered = plane.small.get(blob.digest)?.bytes;
  if (remembered) {
    response.end(range ? remembered.subarray(range.offset, range.offset + range.length) : remembered);
    return count(range?.length ?? blob.size);
  }
  if (blob.size > smallest && plane.app.config.s3_redirect === 'on') {
    const elsewhere = await storage.presign(blob.storage_key, presignedSeconds, { contentType: 'application/octet-stream' });
    if (elsewhere) {
      for (const header of ['Content-Length', 'Content-Range', 'Cache-Control']) response.removeHeader(header);
      response.statusCode = 307;
      response.setHeader('Location', elsewhere);
      response.setHeader('Cache-Control', 'no-store');
      response.end();
      return count(range?.length ?? blob.size);
    }
  }
  if (blob.size > smallest && (await leaveToProxy(call, blob))) return count(range?.length ?? blob.size);
  const whole = blob.size <= smallest;
  const opened = await orUnprepared(call, storage.open(blob.storage_key, whole ? undefined : range));
  if (!opened) {
    // Deleted since we remembered it, and perhaps pushed again by way of another process, whose word has not reached us yet; or it
    // was never there, and then the operator must know.
    const now = await plane.places.blobAnew(repository, blob.digest);
    if (now && now.storage_key !== blob.storage_key) return sendBlob(call, place, repository, now);
    if (now) plane.app.log.error({ blob: blob.digest, key: blob.storage_key }, 'a blob is missing in the storage');
    unprepare(call);
    return blobUnknown(blob.digest);
  }
  if (whole) {
    const bytes = await gather(opened.stream);
    if (bytes.length === blob.size) plane.small.set(blob.digest, makeSmallBlob(blob.digest, bytes));
    response.end(range ? bytes.subarray(range.offset, range.offset + range.length) : bytes);
  } else {
    const reader = { response, org: call.access.org, buffers: plane.buffers, watch: plane.app.watch };
    await orUnprepared(
      call,
      whileAllowed(call, place, () => sendStream(opened.stream, opened.length, reader)),
    );
  }
  count(opened.length);
}

/** Where the operator's nginx can read our files, it sends them itself, and the range that was asked for. */
async function leaveToProxy({ plane, request, response }: Call, blob: BlobRow): Promise<boolean> {
  const { config, peers, storage } = plane.app;
  if (!config.accel_redirect || config.storage || !peers.isProxied(request) || !(await storage.stat(blob.storage_key))) return false;
  response.removeHeader('Content-Range');
  response.statusCode = 200;
  response.setHeader('Content-Length', 0);
  response.setHeader('X-Accel-Redirect', `${config.accel_redirect}/${blob.storage_key}`);
  response.end();
  return true;
}

/** A long transfer ends when nothing moves any more, or when the credential is revoked. */
async function whileAllowed(call: Call, { slug, repository }: Place, send: () => Promise<void>): Promise<void> {
  const { response, plane } = call;
  const cut = () => void response.destroy();
  const unwatch = watchAccess(call, (access) => may({ ...access, scopes: undefined }, slug, repository, 'pull'), cut);
  response.setTimeout(plane.settings.idleMs, cut);
  const leave = watchesItself(response);
  await send().finally(() => {
    unwatch();
    leave?.();
    response.setTimeout(0);
  });
}

async function fromUpstream(call: Call, place: Place, repository: RepositoryRow, digest: string): Promise<void> {
  const cache = repository.upstream_host ? call.plane.cache : undefined;
  if (await cache?.linkHere(repository, digest, (name) => may({ ...call.access, scopes: undefined }, place.slug, name, 'pull'))) {
    const blob = await call.plane.places.blob(repository, digest);
    if (blob) return answerBlob(call, place, repository, blob);
  }
  if (call.method === 'HEAD') {
    const size = (await cache?.blobSize(repository, digest)) ?? blobUnknown(digest);
    return prepare(call, size, digest) ? void call.response.end() : undefined;
  }
  const source: ReadableSource | undefined = await cache?.blob(repository, digest);
  if (!source) return blobUnknown(digest);
  if (!prepare(call, source.size, digest)) return;
  const range = rangeOf(call.request.headers.range, source.size);
  const stream = await orUnprepared(call, source.open(typeof range === 'object' ? range : undefined));
  const length = typeof range === 'object' ? range.length : source.size;
  const { response, access, plane } = call;
  await whileAllowed(call, place, () =>
    sendStream(stream, length, { response, org: access.org, buffers: plane.buffers, watch: plane.app.watch }),
  );
  plane.metrics.bytes.series(place.slug, 'out').count(length);
}

export async function deleteBlob(call: Call, name: string, digest: string): Promise<void> {
  const { plane, response } = call;
  const place = permit(plane, call.access, name, ['delete']);
  checkDigest(digest);
  refuseCached(call, place);
  const repository = (await repositoryAt(call, place)) ?? blobUnknown(digest);
  const { db, caches } = plane.app;
  const gone = await db.write(async (tx) => {
    await allow(call, name, ['delete'])(tx);
    return deletion.deleteBlob(tx, caches, repository, digest);
  });
  if (!gone) blobUnknown(digest);
  response.statusCode = 202;
  response.setHeader('Content-Length', 0);
  response.end();
}
