import type { Tx } from '../../../../kernel/db.ts';
import { DigestMismatch, UploadUnknown } from '../../../../kernel/storage/index.ts';
import { may } from '../../rules/access.ts';
import { withRoom } from '../../engine/gc/evict.ts';
import { freeOf, OverQuota, quotaOf, release } from '../../engine/quota.ts';
import { type Algorithm, algorithmOf, isDigest, splitName } from '../../rules/names.ts';
import { chunkOf } from '../../rules/range.ts';
import { settingsOf } from '../../engine/settings.ts';
import { holdBlob, holdersOf, linkedBlob } from '../../store/blobs.ts';
import { ensureRepository, type RepositoryRow, repositoryByName } from '../../store/repositories.ts';
import { heldSize, insertUpload, keepUpload, takeUpload, type UploadRow, uploadOf } from '../../store/uploads.ts';
import { type Call, type Place, permit, refuseCached, scopeOf, unknownName } from './call.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import { patiently } from '../../engine/push/patience.ts';
import { contentLength, receive } from './receive.ts';
import { commitBlob, link } from '../../engine/push/store-blob.ts';

const digestInvalid = (): never => {
  throw new OciError('DIGEST_INVALID', 'a digest is sha256: or sha512: and its hexadecimal digits');
};

function answer({ response }: Call, status: number, headers: Record<string, string | number>) {
  response.statusCode = status;
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (status !== 204) response.setHeader('Content-Length', 0);
  response.end();
}

const created = (call: Call, place: Place, digest: string) =>
  answer(call, 201, { Location: `/v2/${place.name}/blobs/${digest}`, 'Docker-Content-Digest': digest });

const state = (place: Place, id: string, offset: number) => ({
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

  const repository = await ensured(call, place);
  if (mount !== null && (await mountBlob(call, repository, mount, query.get('from')))) return created(call, place, mount);

  if (digest === null || (await heldBy(call, place, digest)) === undefined) await refuseFull(call, place, contentLength(call.request) ?? 0);
  const upload = await beginUpload(call, repository, algorithm);
  if (digest === null) return answer(call, 202, state(place, upload.id, 0));
  await complete(call, place, repository, upload, 0, digest).catch(async (error) => {
    await discard(call, upload).catch(() => {}); // nobody was told its id, so nobody can go on with it
    throw error;
  });
}

async function beginUpload({ plane, access }: Call, repository: RepositoryRow, algorithm: Algorithm): Promise<UploadRow> {
  const id = await plane.app.storage.createUpload();
  const node = await plane.node();
  const { uploadSeconds } = settingsOf(plane.app);
  await plane.app.db.read((tx) =>
    insertUpload(tx, { id, org: access.org, repositoryId: repository.id, node, keyId: access.keyId, ttlSeconds: uploadSeconds }),
  );
  plane.hashes.begin(id, algorithm);
  return { id, repository_id: repository.id, registry_id: repository.registry_id, node, reserved: 0 };
}

async function ensured(call: Call, place: Place): Promise<RepositoryRow> {
  const { app, places } = call.plane;
  return (
    (await places.repository(place.registryId, place.repository)) ??
    (await app.db.write((tx) => ensureRepository(tx, { registryId: place.registryId, name: place.repository }))) ??
    unknownName(place)
  );
}

const heldBy = ({ plane }: Call, place: Place, digest: string) => plane.app.db.read((tx) => heldSize(tx, place.registryId, digest));

/** Early, with the numbers: before a byte is sent when the client said how many come, else when there is no room at all. */
async function refuseFull(call: Call, place: Place, needed: number) {
  const { app } = call.plane;
  const least = Math.max(1, needed);
  const quota = await withRoom(app, place.registryId, async () => {
    const found = (await app.db.read((tx) => quotaOf(tx, place.registryId))) ?? unknownName(place);
    if (freeOf(found) < least) throw new OverQuota(found, least);
    return found;
  });
  const taken = quota.used_bytes + quota.reserved_bytes;
  if (taken > 0.9 * quota.quota_bytes)
    call.response.setHeader('Warning', `299 - "${taken} of the ${quota.quota_bytes} bytes that the registry may hold are taken"`);
}

/** Content that another repository has, for whoever may pull it there. False: the client has to send it. */
async function mountBlob({ plane, access }: Call, target: RepositoryRow, digest: string, from: string | null): Promise<boolean> {
  const whole = { ...access, scopes: undefined };
  const source = from === null ? undefined : splitName(from);
  const reach = source && access.registries.get(source.slug);
  if (from !== null && (!reach || !may(whole, source.slug, source.repository, 'pull'))) return false;
  if (source && !may(access, source.slug, source.repository, 'pull')) {
    // A token for the target alone, though its owner may pull from the source: a client that is told so fetches one for both.
    throw challenge(plane.app, `${scopeOf(`${target.slug}/${target.name}`, ['pull', 'push'])} ${scopeOf(from!, ['pull'])}`, true);
  }
  const mount = async (tx: Tx) => {
    if (source) {
      const repository = await repositoryByName(tx, reach!.registryId, source.repository);
      if (!repository || !(await linkedBlob(tx, repository.id, digest))) return false;
    } else {
      // No source named: any of the same registry that the credential may pull from. A token cannot be asked for what has no name.
      const holders = await holdersOf(tx, digest, [target.registry_id]);
      if (!holders.some((h) => may(whole, target.slug, h.repository, 'pull'))) return false;
    }
    const blob = await holdBlob(tx, digest);
    if (blob) await link(tx, plane.app, target, blob);
    return Boolean(blob);
  };
  return withRoom(plane.app, target.registry_id, () => plane.app.db.write(mount));
}

async function found(call: Call, name: string, id: string): Promise<{ place: Place; repository: RepositoryRow; upload: UploadRow }> {
  const { plane, access } = call;
  const place = permit(plane, access, name, ['push']);
  refuseCached(call, place);
  const unknown = (): never => {
    throw new OciError('BLOB_UPLOAD_UNKNOWN', 'unknown upload; it was finished, cancelled or has expired, so start a new one');
  };
  const repository = (await plane.places.repository(place.registryId, place.repository)) ?? unknown();
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
      headers: state(place, id, offset),
    });
  if (chunk && chunk.offset !== offset)
    throw new OciError('BLOB_UPLOAD_INVALID', `the upload holds ${offset} bytes; go on from there`, {
      status: 416,
      headers: state(place, id, offset),
    });
  const length = contentLength(call.request);
  if (chunk && length !== undefined && length !== chunk.length)
    throw new OciError('SIZE_INVALID', `Content-Range speaks of ${chunk.length} bytes and Content-Length of ${length}`);
  return offset;
}

/** PATCH: one chunk, or a stream of unknown length. */
export async function appendChunk(call: Call, name: string, id: string): Promise<void> {
  const { place, upload } = await found(call, name, id);
  const offset = await offsetFor(call, place, id);
  const end = await receive(call, place, upload, offset).catch((error) => dropIfFull(call, upload, error));
  const kept = await patiently(() => call.plane.app.db.read((tx) => keepUpload(tx, id, settingsOf(call.plane.app).uploadSeconds)));
  if (!kept) throw new UploadUnknown();
  answer(call, 202, state(place, id, end));
}

/** PUT: perhaps the last chunk, and the digest of all. */
export async function finishUpload(call: Call, name: string, id: string): Promise<void> {
  const { place, repository, upload } = await found(call, name, id);
  const digest = call.query.get('digest');
  if (digest === null || !isDigest(digest)) return digestInvalid();
  await complete(call, place, repository, upload, await offsetFor(call, place, id), digest);
}

async function complete(call: Call, place: Place, repository: RepositoryRow, upload: UploadRow, offset: number, digest: string) {
  const { plane } = call;
  if (offset === 0) plane.hashes.begin(upload.id, algorithmOf(digest));
  try {
    const held = await heldBy(call, place, digest);
    const size = await receive(call, place, upload, offset, { held });
    await commitBlob(plane.app, plane.hashes, repository, { uploadId: upload.id, digest, size });
  } catch (error) {
    // Bytes that are not what they were said to be will not become it.
    if (error instanceof DigestMismatch || (error instanceof OciError && error.code === 'DIGEST_INVALID')) await discard(call, upload);
    return dropIfFull(call, upload, error);
  }
  created(call, place, digest);
}

export async function uploadStatus(call: Call, name: string, id: string): Promise<void> {
  const { place } = await found(call, name, id);
  answer(call, 204, state(place, id, await call.plane.app.storage.uploadOffset(id)));
}

export async function cancelUpload(call: Call, name: string, id: string): Promise<void> {
  const { upload } = await found(call, name, id);
  await discard(call, upload);
  answer(call, 204, {});
}

/** What does not fit the quota will not fit later either: its bytes and its reservation go now. */
async function dropIfFull(call: Call, upload: UploadRow, error: unknown): Promise<never> {
  if (error instanceof OverQuota) await discard(call, upload);
  throw error;
}

async function discard({ plane }: Call, upload: UploadRow) {
  plane.hashes.forget(upload.id);
  await plane.app.storage.abort(upload.id);
  await plane.app.db.write(async (tx) => {
    const gone = await takeUpload(tx, upload.id);
    if (gone) await release(tx, upload.registry_id, gone.reserved);
  });
}
