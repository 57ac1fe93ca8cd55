import { DigestMismatch } from '../../../../kernel/storage/index.ts';
import { retryWhileUnavailable } from '../../engine/push/database-retry.ts';
import { commitBlob } from '../../engine/push/store-blob.ts';
import { abandonUpload, beginUpload, discardUpload, ensureRepositoryForPush, mountBlob, requireQuota } from '../../engine/push/uploads.ts';
import type { WriteLease } from '../../engine/push/write-leases.ts';
import { OverQuota } from '../../engine/quota.ts';
import { may } from '../../rules/access.ts';
import { RegistryError } from '../../rules/errors.ts';
import { algorithmOf, isDigest, splitName } from '../../rules/names.ts';
import { chunkOf } from '../../rules/range.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { heldSize, type UploadRow, uploadOf } from '../../store/uploads.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import { contentLength, receive } from './receive.ts';
import { type Call, checkPermission, type RepositoryAddress, refuseCached, requireAccess, scopeOf, unknownName } from './request.ts';

const digestInvalid = (): never => {
  throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
};

function sendHeaders({ response }: Call, status: number, headers: Record<string, string | number>) {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.end();
}

const sendCreated = (call: Call, address: RepositoryAddress, digest: string) =>
  sendHeaders(call, 201, { Location: `/v2/${address.name}/blobs/${digest}`, 'Docker-Content-Digest': digest });

/** The headers that tell a client options to continue an upload. */
const progressOf = (address: RepositoryAddress, id: string, offset: number) => ({
  Location: `/v2/${address.name}/blobs/uploads/${id}`,
  'Docker-Upload-UUID': id,
  Range: `0-${Math.max(0, offset - 1)}`,
});

/** POST: a mount, a whole blob in one request, or the start of an upload. */
export async function startUpload(call: Call, name: string): Promise<void> {
  const { plane, access, query } = call;
  const address = requireAccess(plane, access, name, ['push']);
  refuseCached(call, address);
  const [mount, digest] = [query.get('mount'), query.get('digest')];
  if (mount !== null && !isDigest(mount)) digestInvalid();
  if (digest !== null && !isDigest(digest)) digestInvalid();
  const algorithm = query.get('digest-algorithm') ?? (digest === null ? 'sha256' : algorithmOf(digest));
  if (algorithm !== 'sha256' && algorithm !== 'sha512') throw new OciError('DIGEST_INVALID', 'digest-algorithm is sha256 or sha512');

  const repository = await ensureRepository(call, address);
  if (mount !== null && (await mountFrom(call, repository, mount, query.get('from')))) return sendCreated(call, address, mount);

  const isHeld = digest !== null && (await heldSizeOf(call, address, digest)) !== undefined;
  if (!isHeld) await refuseOverQuota(call, address, contentLength(call.request) ?? 0);
  const node = await plane.node();
  const upload = await beginUpload(plane, plane.hashes, repository, { org: access.org, keyId: access.keyId, node, algorithm, isHeld });
  if (digest === null) return sendHeaders(call, 202, progressOf(address, upload.id, 0));
  await completeUpload(call, { address, repository, upload, offset: 0, digest }).catch(async (error) => {
    await discardUpload(plane, plane.hashes, upload).catch(() => {}); // the client never learned its id, so it cannot continue it
    throw error;
  });
}

const ensureRepository = async (call: Call, address: RepositoryAddress, { plane } = call): Promise<RepositoryRow> =>
  (await retryWhileUnavailable(() => plane.contentCache.repository(address.registryId, address.repository))) ??
  (await ensureRepositoryForPush(plane, address.registryId, address.repository, checkPermission(call, address.name, ['push']))) ??
  unknownName(address);

/** The size of this digest in the registry, if it has it. */
const heldSizeOf = ({ plane }: Call, address: RepositoryAddress, digest: string) =>
  retryWhileUnavailable(() => plane.app.db.read((tx) => heldSize(tx, address.registryId, digest)));

/** Refuses before the client sends a byte: the announced length must fit, or the minimum for an upload. */
async function refuseOverQuota(call: Call, address: RepositoryAddress, needed: number) {
  const quota = (await requireQuota(call.plane, address.registryId, needed)) ?? unknownName(address);
  const taken = quota.used_bytes + quota.reserved_bytes;
  if (taken > 0.9 * quota.quota_bytes)
    call.response.setHeader('Warning', `299 - "${taken} of the ${quota.quota_bytes} bytes that the registry may hold are taken"`);
}

/** Mounts content from another repository that the caller may pull from. False: the client must send it. */
async function mountFrom(call: Call, target: RepositoryRow, digest: string, from: string | null): Promise<boolean> {
  const { plane, access } = call;
  const whole = { ...access, scopes: undefined };
  const options = { allow: checkPermission(call, `${target.slug}/${target.name}`, ['push']) };
  // Without a source: any repository of the same registry that the credential may pull from. A token cannot have a scope for an unnamed
  // source.
  if (from === null)
    return mountBlob(plane, target, digest, { mayPull: (repository) => may(whole, target.slug, repository, 'pull') }, options);
  const source = splitName(from);
  const reach = source && access.registries.get(source.slug);
  if (!reach || !may(whole, source.slug, source.repository, 'pull')) return false;
  // The token covers the target only, but its credential may pull from the source: the challenge makes the client fetch a token for both.
  if (!may(access, source.slug, source.repository, 'pull'))
    throw challenge(plane.app, `${scopeOf(`${target.slug}/${target.name}`, ['pull', 'push'])} ${scopeOf(from, ['pull'])}`, true);
  return mountBlob(plane, target, digest, { registryId: reach.registryId, repository: source.repository }, options);
}

async function findUpload(
  call: Call,
  name: string,
  id: string,
): Promise<{ address: RepositoryAddress; repository: RepositoryRow; upload: UploadRow }> {
  const { plane, access } = call;
  const address = requireAccess(plane, access, name, ['push']);
  refuseCached(call, address);
  const unknown = (): never => {
    throw new OciError('BLOB_UPLOAD_UNKNOWN', 'unknown upload; it was finished, cancelled or has expired, so start a new one');
  };
  const repository =
    (await retryWhileUnavailable(() => plane.contentCache.repository(address.registryId, address.repository))) ?? unknown();
  const node = await plane.node();
  const upload = (await retryWhileUnavailable(() => plane.app.db.read((tx) => uploadOf(tx, repository.id, id, node)))) ?? unknown();
  return { address, repository, upload };
}

/** The offset of the next byte. A client with another offset gets 416 and the current one. */
async function offsetFor(call: Call, address: RepositoryAddress, id: string): Promise<number> {
  const offset = await call.plane.app.storage.uploadOffset(id);
  const chunk = chunkOf(call.request.headers['content-range']);
  if (chunk === 'malformed')
    throw new OciError('BLOB_UPLOAD_INVALID', 'Content-Range is <first>-<last>, both counted from 0', {
      status: 416,
      headers: progressOf(address, id, offset),
    });
  if (chunk && chunk.offset !== offset)
    throw new OciError('BLOB_UPLOAD_INVALID', `the upload holds ${offset} bytes; go on from there`, {
      status: 416,
      headers: progressOf(address, id, offset),
    });
  const length = contentLength(call.request);
  if (chunk && length !== undefined && length !== chunk.length)
    throw new OciError('SIZE_INVALID', `Content-Range speaks of ${chunk.length} bytes and Content-Length of ${length}`);
  return offset;
}

/** PATCH: one chunk, or a stream of unknown length. */
export async function appendChunk(call: Call, name: string, id: string): Promise<void> {
  const { address, upload } = await findUpload(call, name, id);
  const lease = await call.plane.leases.take(id);
  let end: number;
  try {
    const offset = await offsetFor(call, address, id);
    end = await receive(call, address, upload, { offset, lease }).catch((error) => discardIfOverQuota(call, upload, error));
  } catch (error) {
    await lease.end();
    throw error;
  }
  await lease.endAndExtendUpload();
  sendHeaders(call, 202, progressOf(address, id, end));
}

/** PUT: an optional last chunk, and the digest of the whole. */
export async function finishUpload(call: Call, name: string, id: string): Promise<void> {
  const { address, repository, upload } = await findUpload(call, name, id);
  const digest = call.query.get('digest');
  if (digest === null || !isDigest(digest)) return digestInvalid();
  const lease = await call.plane.leases.take(id);
  try {
    await completeUpload(call, { address, repository, upload, offset: await offsetFor(call, address, id), digest, lease });
  } finally {
    await lease.end();
  }
}

interface UploadCompletion {
  address: RepositoryAddress;
  repository: RepositoryRow;
  upload: UploadRow;
  offset: number;
  digest: string;
  lease?: WriteLease;
}

async function completeUpload(call: Call, { address, repository, upload, offset, digest, lease }: UploadCompletion) {
  const { plane } = call;
  if (offset === 0) plane.hashes.begin(upload.id, algorithmOf(digest));
  try {
    const held = offset === 0 ? await heldSizeOf(call, address, digest) : undefined;
    const size = await receive(call, address, upload, { offset, heldBytes: held, lease });
    const options = { held: held !== undefined, mayWrite: lease?.mayWrite, allow: checkPermission(call, address.name, ['push']) };
    await commitBlob(plane, plane.hashes, repository, { uploadId: upload.id, digest, size }, options);
  } catch (error) {
    // Bytes with a wrong digest cannot become right, so the upload is discarded.
    const isWrong = error instanceof DigestMismatch || (error instanceof RegistryError && error.code === 'DIGEST_INVALID');
    if (isWrong) await discardUpload(plane, plane.hashes, upload);
    return discardIfOverQuota(call, upload, error);
  }
  sendCreated(call, address, digest);
}

export async function uploadStatus(call: Call, name: string, id: string): Promise<void> {
  const { address } = await findUpload(call, name, id);
  sendHeaders(call, 204, progressOf(address, id, await call.plane.app.storage.uploadOffset(id)));
}

export async function cancelUpload(call: Call, name: string, id: string): Promise<void> {
  const { upload } = await findUpload(call, name, id);
  await abandonUpload(call.plane, call.plane.hashes, upload, checkPermission(call, name, ['push']));
  sendHeaders(call, 204, {});
}

/** An upload that exceeds the quota will not fit later: its bytes and reservation are released now. */
async function discardIfOverQuota({ plane }: Call, upload: UploadRow, error: unknown): Promise<never> {
  if (error instanceof OverQuota) await discardUpload(plane, plane.hashes, upload);
  throw error;
}
