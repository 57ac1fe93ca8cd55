import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { S3 } from '@aws-sdk/client-s3';
import { gather } from '../growing-buffer.ts';
import { type Body, chunksOf, pump, verify } from './body.ts';
import { OffsetMismatch, UploadBusy, UploadUnknown } from './errors.ts';
import { exclusive } from './exclusive.ts';
import { checkKey, isUploadId, uploadsFolder } from './keys.ts';
import { ask, askUnlessMissing, type Bucket, inParallel } from './s3-client.ts';
import { listObjects, multipart, partSize } from './s3-objects.ts';
import type { Storage } from './storage.ts';

interface Piece {
  key: string;
  size: number;
}

/** An upload is a row of objects, `.uploads/<id>/<offset>`, each a future part; the one at 0 is there, empty, from the beginning.
 *
 *  S3's own multipart upload would not do: it wants the key before the digest is known, its parts cannot be read back to hash them,
 *  and a part below 5 MiB cannot be followed by another. Here the last piece grows by being replaced, which is atomic, until it has
 *  a part's size; so chunks of any size survive a restart. Committing has S3 copy the pieces into place, without them passing us. */
export function s3Uploads(bucket: Bucket): Pick<Storage, 'createUpload' | 'uploadOffset' | 'append' | 'commit' | 'abort'> {
  const alone = exclusive();
  const folder = (id: string) => bucket.at(`${uploadsFolder}/${id}/`);
  const pieceKey = (id: string, offset: number) => folder(id) + String(offset).padStart(16, '0');
  const put = (s3: S3, key: string, bytes: Uint8Array) => ask(s3.putObject({ Bucket: bucket.name, Key: key, Body: bytes }));

  async function piecesOf(s3: S3, id: string): Promise<Piece[]> {
    if (!isUploadId(id)) throw new UploadUnknown();
    const pieces: Piece[] = [];
    let end = 0;
    for await (const { key, size } of listObjects(s3, bucket.name, folder(id))) {
      if (key !== pieceKey(id, end)) break;
      pieces.push({ key, size });
      end += size;
    }
    if (pieces.length === 0) throw new UploadUnknown();
    return pieces;
  }

  /** Whole pieces only: growing one whose end failed to arrive would cut it short. */
  async function* read(s3: S3, pieces: Piece[]): AsyncGenerator<Uint8Array> {
    for (const { key } of pieces.filter(({ size }) => size > 0)) {
      const { Body } = await ask(s3.getObject({ Bucket: bucket.name, Key: key }));
      yield await ask(gather(Body as Readable));
    }
  }

  /** The first piece goes first: without it the rest is no upload any more, so a crash here leaves only something to sweep. */
  async function discard(s3: S3, [first, ...rest]: Piece[]): Promise<void> {
    const remove = ({ key }: Piece) => askUnlessMissing(s3.deleteObject({ Bucket: bucket.name, Key: key })).then(() => {});
    if (first) await remove(first);
    await inParallel(8, rest, remove);
  }

  return {
    async createUpload() {
      const id = randomUUID();
      await put(await bucket.client(), pieceKey(id, 0), new Uint8Array());
      return id;
    },

    uploadOffset: async (id) => endOf(await piecesOf(await bucket.client(), id)),

    append: (id, offset, body) =>
      alone(id, async () => {
        const s3 = await bucket.client();
        const pieces = await piecesOf(s3, id);
        if (offset !== endOf(pieces)) throw new OffsetMismatch(endOf(pieces));

        const growing = pieces.at(-1)!.size < partSize(pieces.length - 1) ? pieces.splice(-1) : [];
        let at = endOf(pieces);
        let count = pieces.length;
        const grow = async (bytes: Buffer) => {
          if (bytes.length === 0) return;
          const key = pieceKey(id, at);
          at += bytes.length;
          count++;
          await put(s3, key, bytes);
        };
        await pump(joined(read(s3, growing), body), () => partSize(count), grow, 'keep');
        return at;
      }),

    commit: (id, key, options = {}) =>
      alone(id, async () => {
        const target = { Bucket: bucket.name, Key: bucket.at(checkKey(key)) };
        const s3 = await bucket.client();
        const pieces = await piecesOf(s3, id);
        if (options.size !== undefined && options.size !== endOf(pieces)) throw new UploadBusy();
        if (options.digest !== undefined) await verify(read(s3, pieces), options.digest);

        const sourceOf = (piece: Piece) => ({ CopySource: `${bucket.name}/${piece.key}` });
        if (pieces.length === 1) await ask(s3.copyObject({ ...target, ...sourceOf(pieces[0]!) }));
        else {
          await multipart(s3, target, (sendPart) =>
            inParallel(8, pieces, (piece, index) =>
              sendPart(index, async (part) => (await ask(s3.uploadPartCopy({ ...part, ...sourceOf(piece) }))).CopyPartResult?.ETag),
            ),
          );
        }
        await discard(s3, pieces).catch(() => {}); // the object is there; what is left of the upload is for the sweep
        return { size: endOf(pieces) };
      }),

    abort: (id) =>
      alone(id, async () => {
        const s3 = await bucket.client();
        const pieces = await piecesOf(s3, id).catch((error) => {
          if (error instanceof UploadUnknown) return [];
          throw error;
        });
        await discard(s3, pieces);
      }),
  };
}

const endOf = (pieces: Piece[]) => pieces.reduce((end, piece) => end + piece.size, 0);

async function* joined(first: AsyncIterable<Uint8Array>, second: Body): AsyncGenerator<Uint8Array> {
  yield* first;
  yield* chunksOf(second);
}
