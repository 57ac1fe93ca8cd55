import { gather } from '../../../../kernel/buffers/growing-buffer.ts';
import { skipUnreadCheck } from '../../../../kernel/http/connections.ts';
import * as deletion from '../../engine/deletion.ts';
import type { ReadableSource } from '../../engine/pull-through/types.ts';
import { may } from '../../rules/access.ts';
import { isDigest } from '../../rules/names.ts';
import { rangeOf } from '../../rules/range.ts';
import type { BlobRow } from '../../store/blobs.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { watchAccess } from './access-watch.ts';
import { OciError } from './errors.ts';
import { makeSmallBlob } from './memory-answers.ts';
import {
  type Call,
  checkPermission,
  knownRepository,
  type RepositoryAddress,
  refuseCached,
  repositoryAt,
  requireAccess,
} from './request.ts';
import { sendStream } from './send.ts';

/** Configs and signatures: small and requested often, so they are kept in memory. */
const smallBlobMaxBytes = 64 * 1024;
/** A client follows the redirect at once. A longer lifetime would only help a reader of logs. */
const presignedSeconds = 30;

const blobUnknown = (digest: string): never => {
  throw new OciError('BLOB_UNKNOWN', `the repository has no blob ${digest}`);
};

const checkDigest = (digest: string) => {
  if (!isDigest(digest)) throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
};

export async function getBlob(call: Call, name: string, digest: string): Promise<void> {
  const address = requireAccess(call.plane, call.access, name, ['pull']);
  checkDigest(digest);
  const repository = await knownRepository(call, address);
  const head = call.method === 'HEAD';
  // Clients cannot push to a cache, so a HEAD there needs no touch.
  const relies = head && !call.plane.pullThrough?.hostOf(address.repository);
  const blob = relies
    ? await call.plane.contentCache.touchBlob(repository, digest)
    : await call.plane.contentCache.blob(repository, digest);
  if (!blob) return fromUpstream(call, address, repository, digest);
  await answerBlob(call, address, repository, blob);
}

async function answerBlob(call: Call, address: RepositoryAddress, repository: RepositoryRow, blob: BlobRow): Promise<void> {
  if (!setBlobHeaders(call, blob.size, blob.digest)) return;
  if (call.method === 'HEAD') return void call.response.end();
  await sendBlob(call, address, repository, blob);
}

/** Sets headers and status for a blob of this size. False: the answer is already sent. */
function setBlobHeaders({ request, response }: Call, size: number, digest: string): boolean {
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

/** An error must not carry the blob's headers: they allow caching for a year. */
async function clearHeadersOnError<T>(call: Call, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!call.response.headersSent) clearBlobHeaders(call);
    throw error;
  }
}

function clearBlobHeaders({ response }: Call) {
  for (const header of ['Content-Length', 'Content-Range', 'ETag', 'Cache-Control', 'Accept-Ranges', 'Docker-Content-Digest'])
    response.removeHeader(header);
}

async function sendBlob(call: Call, address: RepositoryAddress, repository: RepositoryRow, blob: BlobRow): Promise<void> {
  const { plane, request, response } = call;
  const { storage } = plane.app;
  const asked = rangeOf(request.headers.range, blob.size);
  const range = asked === 'unsatisfiable' ? undefined : asked;
  const count = (bytes: number) => plane.metrics.bytes.series(address.slug, 'out').count(bytes);

  const remembered = plane.smallBlobs.get(blob.digest)?.bytes;
  if (remembered) {
    response.end(range ? remembered.subarray(range.offset, range.offset + range.length) : remembered);
    return count(range?.length ?? blob.size);
  }
  if (blob.size > smallBlobMaxBytes && plane.app.config.s3_redirect === 'on') {
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
  if (blob.size > smallBlobMaxBytes && (await sendByProxy(call, blob))) return count(range?.length ?? blob.size);
  const whole = blob.size <= smallBlobMaxBytes;
  const opened = await clearHeadersOnError(call, storage.open(blob.storage_key, whole ? undefined : range));
  if (!opened) {
    // The cached row is outdated: the blob was deleted, and perhaps pushed again through another process. If the row is unchanged, the
    // object is lost and the operator must know.
    const now = await plane.contentCache.reloadBlob(repository, blob.digest);
    if (now && now.storage_key !== blob.storage_key) return sendBlob(call, address, repository, now);
    if (now) plane.app.log.error({ blob: blob.digest, key: blob.storage_key }, 'a blob is missing in the storage');
    clearBlobHeaders(call);
    return blobUnknown(blob.digest);
  }
  if (whole) {
    const bytes = await gather(opened.stream);
    if (bytes.length === blob.size) plane.smallBlobs.set(blob.digest, makeSmallBlob(blob.digest, bytes));
    response.end(range ? bytes.subarray(range.offset, range.offset + range.length) : bytes);
  } else {
    const reader = { response, org: call.access.org, buffers: plane.buffers, watch: plane.app.watch };
    await clearHeadersOnError(
      call,
      whileAllowed(call, address, () => sendStream(opened.stream, opened.length, reader)),
    );
  }
  count(opened.length);
}

/** nginx sends the file itself, including the requested range, if the operator configured it. */
async function sendByProxy({ plane, request, response }: Call, blob: BlobRow): Promise<boolean> {
  const { config, peers, storage } = plane.app;
  if (!config.accel_redirect || config.storage || !peers.isProxied(request) || !(await storage.stat(blob.storage_key))) return false;
  response.removeHeader('Content-Range');
  response.statusCode = 200;
  response.setHeader('Content-Length', 0);
  response.setHeader('X-Accel-Redirect', `${config.accel_redirect}/${blob.storage_key}`);
  response.end();
  return true;
}

/** Aborts a transfer without progress, or when the credential is revoked. */
async function whileAllowed(call: Call, { slug, repository }: RepositoryAddress, send: () => Promise<void>): Promise<void> {
  const { response, plane } = call;
  const cut = () => void response.destroy();
  const unwatch = watchAccess(call, (access) => may({ ...access, scopes: undefined }, slug, repository, 'pull'), cut);
  response.setTimeout(plane.settings.idleMs, cut);
  const leave = skipUnreadCheck(response);
  await send().finally(() => {
    unwatch();
    leave?.();
    response.setTimeout(0);
  });
}

async function fromUpstream(call: Call, address: RepositoryAddress, repository: RepositoryRow, digest: string): Promise<void> {
  const pullThrough = repository.upstream_host ? call.plane.pullThrough : undefined;
  if (
    await pullThrough?.linkHeldBlob(repository, digest, (name) => may({ ...call.access, scopes: undefined }, address.slug, name, 'pull'))
  ) {
    const blob = await call.plane.contentCache.blob(repository, digest);
    if (blob) return answerBlob(call, address, repository, blob);
  }
  if (call.method === 'HEAD') {
    const size = (await pullThrough?.blobSize(repository, digest)) ?? blobUnknown(digest);
    return setBlobHeaders(call, size, digest) ? void call.response.end() : undefined;
  }
  const source: ReadableSource | undefined = await pullThrough?.blob(repository, digest);
  if (!source) return blobUnknown(digest);
  if (!setBlobHeaders(call, source.size, digest)) return;
  const range = rangeOf(call.request.headers.range, source.size);
  const stream = await clearHeadersOnError(call, source.open(typeof range === 'object' ? range : undefined));
  const length = typeof range === 'object' ? range.length : source.size;
  const { response, access, plane } = call;
  await whileAllowed(call, address, () =>
    sendStream(stream, length, { response, org: access.org, buffers: plane.buffers, watch: plane.app.watch }),
  );
  plane.metrics.bytes.series(address.slug, 'out').count(length);
}

export async function deleteBlob(call: Call, name: string, digest: string): Promise<void> {
  const { plane, response } = call;
  const address = requireAccess(plane, call.access, name, ['delete']);
  checkDigest(digest);
  refuseCached(call, address);
  const repository = (await repositoryAt(call, address)) ?? blobUnknown(digest);
  const { db, caches } = plane.app;
  const gone = await db.write(async (tx) => {
    await checkPermission(call, name, ['delete'])(tx);
    return deletion.deleteBlob(tx, caches, repository, digest);
  });
  if (!gone) blobUnknown(digest);
  response.statusCode = 202;
  response.setHeader('Content-Length', 0);
  response.end();
}
