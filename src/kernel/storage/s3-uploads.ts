import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { S3 } from '@aws-sdk/client-s3';
import { gather } from '../buffers/growing-buffer.ts';
import { type Body, chunksOf, pump, verify } from './body.ts';
import { OffsetMismatch, UploadBusy, UploadUnknown } from './errors.ts';
import { exclusive } from './exclusive.ts';
import { checkKey, isUploadId, uploadsFolder } from './keys.ts';
import { type Bucket, inParallel, withS3Errors, withS3ErrorsUnlessMissing } from './s3-client.ts';
import { listObjects, multipart, type Target } from './s3-objects.ts';
import type { AppendOptions, Storage } from './storage.ts';

interface Piece {
  key: string;
  size: number;
}

/** A bucket and its client. */
interface Store {
  s3: S3;
  bucket: Bucket;
}

/**
 * An upload is a series of objects, `.uploads/<id>/<offset>`, each a future part; the empty one at 0 exists from the beginning.
 *
 * S3's own multipart upload does not fit: it needs the key before the digest is known, its parts cannot be read back to hash them, and a
 * part below 5 MiB cannot be followed by another. Here the last piece grows by atomic replacement until it has a part's size. So chunks of
 * any size survive a restart. At commit S3 copies the pieces on its side.
 */
export function s3Uploads(bucket: Bucket): Pick<Storage, 'createUpload' | 'uploadOffset' | 'append' | 'commit' | 'abort'> {
  const exclusively = exclusive();
  const store = async (): Promise<Store> => ({ s3: await bucket.client(), bucket });
  return {
    createUpload: async () => createUpload(await store()),
    uploadOffset: async (id) => endOf(await listPieces(await store(), id)),
    append: (id, offset, body, { mayWrite } = {}) => exclusively(id, async () => appendToUpload(await store(), id, offset, body, mayWrite)),
    commit: (id, key, options = {}) =>
      exclusively(id, async () => {
        const target = { Bucket: bucket.name, Key: bucket.at(checkKey(key)) };
        return commitUpload(await store(), id, target, options);
      }),
    abort: (id) => exclusively(id, async () => abortUpload(await store(), id)),
  };
}

async function createUpload(store: Store): Promise<string> {
  const id = randomUUID();
  await putPiece(store, pieceKey(store, id, 0), new Uint8Array());
  return id;
}

async function appendToUpload(store: Store, id: string, offset: number, body: Body, mayWrite: AppendOptions['mayWrite']): Promise<number> {
  const pieces = await listPieces(store, id);
  if (offset !== endOf(pieces)) throw new OffsetMismatch(endOf(pieces));

  const growing = pieces.at(-1)!.size < store.bucket.partSize(pieces.length - 1) ? pieces.splice(-1) : [];
  let end = endOf(pieces);
  let count = pieces.length;
  const addPiece = async (bytes: Buffer) => {
    if (bytes.length === 0) return;
    const key = pieceKey(store, id, end);
    end += bytes.length;
    count++;
    await mayWrite?.();
    await putPiece(store, key, bytes);
  };
  await pump(joined(readPieces(store, growing), body), () => store.bucket.partSize(count), addPiece, 'keep');
  return end;
}

async function commitUpload(
  store: Store,
  id: string,
  target: Target,
  expected: { digest?: string; size?: number },
): Promise<{ size: number }> {
  const pieces = await listPieces(store, id);
  if (expected.size !== undefined && expected.size !== endOf(pieces)) throw new UploadBusy();
  if (expected.digest !== undefined) await verify(readPieces(store, pieces), expected.digest);
  await copyPieces(store, pieces, target);
  await discardPieces(store, pieces).catch(() => {}); // the object exists; the sweep removes the rest of the upload
  return { size: endOf(pieces) };
}

async function abortUpload(store: Store, id: string): Promise<void> {
  if (!isUploadId(id)) return;
  // Also those after a gap: an earlier attempt may have failed halfway, and the caller releases the quota after this one.
  const pieces: Piece[] = [];
  for await (const piece of listObjects(store.s3, store.bucket.name, folderOf(store.bucket, id))) pieces.push(piece);
  await discardPieces(store, pieces);
}

const folderOf = (bucket: Bucket, id: string) => bucket.at(`${uploadsFolder}/${id}/`);
const pieceKey = ({ bucket }: Store, id: string, offset: number) => folderOf(bucket, id) + String(offset).padStart(16, '0');
const endOf = (pieces: Piece[]) => pieces.reduce((end, piece) => end + piece.size, 0);

const putPiece = ({ s3, bucket }: Store, key: string, bytes: Uint8Array) =>
  withS3Errors(s3.putObject({ Bucket: bucket.name, Key: key, Body: bytes }));

/** The pieces without a gap: a piece after a gap is not part of the upload. */
async function listPieces(store: Store, id: string): Promise<Piece[]> {
  if (!isUploadId(id)) throw new UploadUnknown();
  const { s3, bucket } = store;
  const pieces: Piece[] = [];
  let end = 0;
  for await (const { key, size } of listObjects(s3, bucket.name, folderOf(bucket, id))) {
    if (key !== pieceKey(store, id, end)) break;
    pieces.push({ key, size });
    end += size;
  }
  if (pieces.length === 0) throw new UploadUnknown();
  return pieces;
}

/** Whole pieces only: growing a piece whose end failed to arrive would truncate it. */
async function* readPieces({ s3, bucket }: Store, pieces: Piece[]): AsyncGenerator<Uint8Array> {
  for (const { key } of pieces.filter(({ size }) => size > 0)) {
    const { Body } = await withS3Errors(s3.getObject({ Bucket: bucket.name, Key: key }));
    yield await withS3Errors(gather(Body as Readable));
  }
}

async function copyPieces({ s3, bucket }: Store, pieces: Piece[], target: Target): Promise<void> {
  const sourceOf = (piece: Piece) => ({ CopySource: `${bucket.name}/${piece.key}` });
  if (pieces.length === 1) return void (await withS3Errors(s3.copyObject({ ...target, ...sourceOf(pieces[0]!) })));
  await multipart(s3, target, (sendPart) =>
    inParallel(8, pieces, (piece, index) =>
      sendPart(index, async (part) => (await withS3Errors(s3.uploadPartCopy({ ...part, ...sourceOf(piece) }))).CopyPartResult?.ETag),
    ),
  );
}

/** The first piece is removed first: without it the rest is no upload any more, so a crash here leaves only something to sweep. */
async function discardPieces({ s3, bucket }: Store, [first, ...rest]: Piece[]): Promise<void> {
  const remove = ({ key }: Piece) => withS3ErrorsUnlessMissing(s3.deleteObject({ Bucket: bucket.name, Key: key })).then(() => {});
  if (first) await remove(first);
  await inParallel(8, rest, remove);
}

async function* joined(first: AsyncIterable<Uint8Array>, second: Body): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* chunksOf(second);
}
