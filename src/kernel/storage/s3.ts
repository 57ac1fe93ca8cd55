import { finished, PassThrough, type Readable } from 'node:stream';
import type { ListMultipartUploadsCommandOutput } from '@aws-sdk/client-s3';
import { RangeUnsatisfiable } from './errors.ts';
import { checkKey, uploadsFolder } from './keys.ts';
import { ask, askUnlessMissing, bucket as bucketOf, inParallel, type S3Settings, s3Failure } from './s3-client.ts';
import { listObjects, putObject } from './s3-objects.ts';
import { s3Uploads } from './s3-uploads.ts';
import type { ByteRange, Storage } from './storage.ts';

/** Objects of one bucket, reachable from every machine. */
export function s3Storage(settings: S3Settings): Storage {
  const bucket = bucketOf(settings);
  const target = (key: string) => ({ Bucket: bucket.name, Key: bucket.at(checkKey(key)) });
  const uploads = bucket.at(`${uploadsFolder}/`);

  return {
    ...s3Uploads(bucket),

    async put(key, body, options = {}) {
      const to = target(key);
      return putObject(await bucket.client(), to, body, options.digest);
    },

    async open(key, range) {
      const from = { ...target(key), Range: range && rangeHeader(range) };
      const s3 = await bucket.client();
      const found = await askUnlessMissing(s3.getObject(from)).catch((error) => {
        throw error.cause?.name === 'InvalidRange' ? new RangeUnsatisfiable() : error;
      });
      if (!found) return undefined;
      const size = Number(found.ContentRange?.split('/')[1] ?? found.ContentLength);
      return { size, length: found.ContentLength!, stream: inOurWords(found.Body as Readable) };
    },

    async stat(key) {
      const from = target(key);
      const found = await askUnlessMissing((await bucket.client()).headObject(from));
      return found && { size: found.ContentLength!, modifiedAt: found.LastModified! };
    },

    async remove(key) {
      const from = target(key);
      await askUnlessMissing((await bucket.client()).deleteObject(from));
    },

    async *list(prefix, after) {
      const root = bucket.at('');
      for await (const object of listObjects(await bucket.client(), bucket.name, root + prefix, after && root + after)) {
        if (!object.key.startsWith(uploads)) yield { ...object, key: object.key.slice(root.length) };
      }
    },

    async presign(key, seconds, answer = {}) {
      const { GetObjectCommand } = await import('@aws-sdk/client-s3');
      const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
      const read = new GetObjectCommand({
        ...target(key),
        ResponseContentType: answer.contentType,
        ResponseContentDisposition: answer.contentDisposition,
      });
      return getSignedUrl(await bucket.client(), read, { expiresIn: seconds });
    },

    async sweep(untouchedSince) {
      const s3 = await bucket.client();
      const folders = new Map<string, { keys: string[]; untouched: boolean }>();
      for await (const { key, modifiedAt } of listObjects(s3, bucket.name, uploads)) {
        const name = key.slice(uploads.length).split('/')[0]!;
        const folder = folders.getOrInsertComputed(name, () => ({ keys: [], untouched: true }));
        folder.keys.push(key);
        if (modifiedAt >= untouchedSince) folder.untouched = false;
      }
      const leftovers = [...folders.values()].filter((folder) => folder.untouched);
      for (const { keys } of leftovers) {
        await inParallel(8, keys, async (Key) => void (await askUnlessMissing(s3.deleteObject({ Bucket: bucket.name, Key }))));
      }
      return leftovers.length + (await sweepMultiparts(untouchedSince));
    },

    close: () => bucket.close(),
  };

  /** Parts of a put that a crash cut short: invisible, and paid for until somebody aborts them. (MinIO lists none without the exact
   *  key, and expires them itself.) */
  async function sweepMultiparts(untouchedSince: Date): Promise<number> {
    const s3 = await bucket.client();
    let swept = 0;
    let page: ListMultipartUploadsCommandOutput | undefined;
    do {
      const next = { KeyMarker: page?.NextKeyMarker, UploadIdMarker: page?.NextUploadIdMarker };
      page = await ask(s3.listMultipartUploads({ Bucket: bucket.name, Prefix: bucket.at(''), ...next }));
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (Initiated! >= untouchedSince) continue;
        await askUnlessMissing(s3.abortMultipartUpload({ Bucket: bucket.name, Key, UploadId }));
        swept++;
      }
    } while (page.IsTruncated);
    return swept;
  }
}

function rangeHeader({ offset, length }: ByteRange): string {
  if (length === 0) throw new RangeUnsatisfiable(); // HTTP has no way to ask for nothing
  return `bytes=${offset}-${length === undefined ? '' : offset + length - 1}`;
}

/** A connection that dies in the middle of an object ends the reader's stream as StorageUnavailable, and a reader who leaves ends the
 *  connection. */
function inOurWords(body: Readable): Readable {
  const stream = new PassThrough();
  finished(body, (error) => error && stream.destroy(s3Failure(error)));
  stream.once('close', () => body.destroy());
  return body.pipe(stream);
}
