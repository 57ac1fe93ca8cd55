import { DigestMismatch } from '../../../../kernel/storage/index.ts';
import type { WriteLease } from '../../engine/push/leases.ts';
import { patiently } from '../../engine/push/patience.ts';
import { commitBlob } from '../../engine/push/store-blob.ts';
import { abandonUpload, beginUpload, discardUpload, makeRepository, mountBlob, requireRoom } from '../../engine/push/uploads.ts';
import { OverQuota } from '../../engine/quota.ts';
import { may } from '../../rules/access.ts';
import { RegistryError } from '../../rules/errors.ts';
import { algorithmOf, isDigest, splitName } from '../../rules/names.ts';
import { chunkOf } from '../../rules/range.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { heldSize, type UploadRow, uploadOf } from '../../store/uploads.ts';
import { allow, type Call, type Place, permit, refuseCached, scopeOf, unknownName } from './call.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import { contentLength, receive } from './receive.ts';

const digestInvalid = (): never => {
  throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
};

function sendHeaders({ response }: Call, status: number, headers: Record<string, string | number>) {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.end();
}

const sendCreated = (call: Call, place: Place, digest: string) =>
  sendHeaders(call, 201, { Location: `/v2/${place.name}/blobs/${digest}`, 'Docker-Content-Digest': digest });

/** Where an upload goes on. */
const progressOf = (place: Place, id: string, offset: number) => ({
  Location: `/v2/${place.name}/blobs/uploads/${id}`,
  'Docker-Upload-UUID': id,
  Range: `0-${Math.max(0, offset - 1)}`,
});

/** POST: a mount, a whole blob in one request, or the beginning of an upload. */
export async function startUpload(call: Call, name: string): Promise<void> {
  const { plane, access, query } = call;
  const place = permit(plane, access, name, ['push']);
  refuseCached(call, place);
  const [mount, digest] = [query.get('mount'), query.get('digest')];
  if (mount !== null && !isDigest(mount)) digestInvalid();
  if (digest !== null && !isDigest(digest)) digestInvalid();
  const algorithm = query.get('digest-algorithm') ?? (digest === null ? 'sha256' : algorithmOf(digest));
  if (algorithm !== 'sha256' && algorithm !== 'sha512') throw new OciError('DIGEST_INVALID', 'digest-algorithm is sha256 or sha512');

  const repository = await haveRepository(call, place);
  if (mount !== null && (await mountFrom(call, repository, mount, query.get('from')))) return sendCreated(call, place, mount);

  const isHeld = digest !== null && (await sizeHere(call, place, digest)) !== undefined;
  if (!isHeld) await refuseFull(call, place, contentLength(call.request) ?? 0);
  const node = await plane.node();
  const upload = await beginUpload(plane, plane.hashes, repository, { org: access.org, keyId: access.keyId, node, algorithm, isHeld });
  if (digest === null) return sendHeaders(call, 202, progressOf(place, upload.id, 0));
  await completeUpload(call, { place, repository, upload, offset: 0, digest }).catch(async (error) => {
    await discardUpload(plane, plane.hashes, upload).catch(() => {}); // nobody was told its id, so nobody can go on with it
    throw error;
  });
}

const haveRepository = async (call: Call, place: Place, { plane } = call): Promise<RepositoryRow> =>
  (await patiently(() => plane.places.repository(place.registryId, place.repository))) ??
  (await makeRepository(plane, place.registryId, place.repository, allow(call, place.name, ['push']))) ??
  unknownName(place);

/** How many bytes of this digest the registry holds already, if it does. */
const sizeHere = ({ plane }: Call, place: Place, digest: string) =>
  patiently(() => plane.app.db.read((tx) => heldSize(tx, place.registryId, digest)));

/** Early, with the numbers: before a byte is sent when the client said how many come, else when there is no room at all. */
async function refuseFull(call: Call, place: Place, needed: number) {
  const quota = (await requireRoom(call.plane, place.registryId, needed)) ?? unknownName(place);
  const taken = quota.used_bytes + quota.reserved_bytes;
  if (taken > 0.9 * quota.quota_bytes)
    call.response.setHeader('Warning', `299 - "${taken} of the ${quota.quota_bytes} bytes that the registry may hold are taken"`);
}

/** Content that another repository has, for whoever may pull it there. False: the client has to send it. */
async function mountFrom(call: Call, target: RepositoryRow, digest: string, from: string | null): Promise<boolean> {
  const { plane, access } = call;
  const whole = { ...access, scopes: undefined };
  const how = { allow: allow(call, `${target.slug}/${target.name}`, ['push']) };
  // No source named: any of the same registry that the credential may pull from. A token cannot be asked for what has no name.
  if (from === null) return mountBlob(plane, target, digest, { mayPull: (repository) => may(whole, target.slug, repository, 'pull') }, how);
  const source = splitName(from);
  const reach = source && access.registries.get(source.slug);
  if (!reach || !may(whole, source.slug, source.repository, 'pull')) return false;
  // A token for the target alone, though its owner may pull from the source: a client that is told so fetches one for both.
  if (!may(access, source.slug, source.repository, 'pull'))
    throw challenge(plane.app, `${scopeOf(`${target.slug}/${target.name}`, ['pull', 'push'])} ${scopeOf(from, ['pull'])}`, true);
  return mountBlob(plane, target, digest, { registryId: reach.registryId, repository: source.repository }, how);
}

async function findUpload(call: Call, name: string, id: string): Promise<{ place: Place; repository: RepositoryRow; upload: UploadRow }> {
  const { plane, access } = call;
  const place = permit(plane, access, name, ['push']);
  refuseCached(call, place);
  const unknown = (): never => {
    throw new OciError('BLOB_UPLOAD_UNKNOWN', 'unknown upload; it was finished, cancelled or has expired, so start a new one');
  };
  const repository = (await patiently(() => plane.places.repository(place.registryId, place.repository))) ?? unknown();
  const node = await plane.node();
  const upload = (await patiently(() => plane.app.db.read((tx) => uploadOf(tx, repository.id, id, node)))) ?? unknown();
  return { place, repository, upload };
}

/** Where the next byte goes. A client that is wrong about it is told, with 416 and how much is here. */
async function offsetFor(call: Call, place: Place, id: string): Promise<number> {
  const offset = await call.plane.app.storage.uploadOffset(id);
  const chunk = chunkOf(call.request.headers['content-range']);
  if (chunk === 'malformed')
    throw new OciError('BLOB_UPLOAD_INVALID', 'Content-Range is <first>-<last>, both counted from 0', {
      status: 416,
      headers: progressOf(place, id, offset),
    });
  if (chunk && chunk.offset !== offset)
    throw new OciError('BLOB_UPLOAD_INVALID', `the upload holds ${offset} bytes; go on from there`, {
      status: 416,
      headers: progressOf(place, id, offset),
    });
  const length = contentLength(call.request);
  if (chunk && length !== undefined && length !== chunk.length)
    throw new OciError('SIZE_INVALID', `Content-Range speaks of ${chunk.length} bytes and Content-Length of ${length}`);
  return offset;
}

/** PATCH: one chunk, or a stream of unknown length. */
export async function appendChunk(call: Call, name: string, id: string): Promise<void> {
  const { place, upload } = await findUpload(call, name, id);
  const lease = await call.plane.leases.take(id);
  let end: number;
  try {
    const offset = await offsetFor(call, place, id);
    end = await receive(call, place, upload, { offset, lease }).catch((error) => dropIfFull(call, upload, error));
  } catch (error) {
    await lease.end();
    throw error;
  }
  await lease.endKept();
  sendHeaders(call, 202, progressOf(place, id, end));
}

/** PUT: perhaps the last chunk, and the digest of all. */
export async function finishUpload(call: Call, name: string, id: string): Promise<void> {
  const { place, repository, upload } = await findUpload(call, name, id);
  const digest = call.query.get('digest');
  if (digest === null || !isDigest(digest)) return digestInvalid();
  const lease = await call.plane.leases.take(id);
  try {
    await completeUpload(call, { place, repository, upload, offset: await offsetFor(call, place, id), digest, lease });
  } finally {
    await lease.end();
  }
}

interface Completed {
  place: Place;
  repository: RepositoryRow;
  upload: UploadRow;
  offset: number;
  digest: string;
  lease?: WriteLease;
}

async function completeUpload(call: Call, { place, repository, upload, offset, digest, lease }: Completed) {
  const { plane } = call;
  if (offset === 0) plane.hashes.begin(upload.id, algorithmOf(digest));
  try {
    const held = offset === 0 ? await sizeHere(call, place, digest) : undefined;
    const size = await receive(call, place, upload, { offset, held, lease });
    const how = { held: held !== undefined, mayWrite: lease?.mayWrite, allow: allow(call, place.name, ['push']) };
    await commitBlob(plane, plane.hashes, repository, { uploadId: upload.id, digest, size }, how);
  } catch (error) {
    // Bytes that are not what they were said to be will not become it.
    const isWrong = error instanceof DigestMismatch || (error instanceof RegistryError && error.code === 'DIGEST_INVALID');
    if (isWrong) await discardUpload(plane, plane.hashes, upload);
    return dropIfFull(call, upload, error);
  }
  sendCreated(call, place, digest);
}

export async function uploadStatus(call: Call, name: string, id: string): Promise<void> {
  const { place } = await findUpload(call, name, id);
  sendHeaders(call, 204, progressOf(place, id, await call.plane.app.storage.uploadOffset(id)));
}

export async function cancelUpload(call: Call, name: string, id: string): Promise<void> {
  const { upload } = await findUpload(call, name, id);
  await abandonUpload(call.plane, call.plane.hashes, upload, allow(call, name, ['push']));
  sendHeaders(call, 204, {});
}

/** What does not fit the quota will not fit later either: its bytes and its reservation go now. */
async function dropIfFull({ plane }: Call, upload: UploadRow, error: unknown): Promise<never> {
  if (error instanceof OverQuota) await discardUpload(plane, plane.hashes, upload);
  throw error;
}
