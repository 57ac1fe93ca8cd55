import { finished, PassThrough, type Readable } from 'node:stream';
import { RangeUnsatisfiable } from './errors.ts';
import { checkKey, uploadsFolder } from './keys.ts';
import { type Bucket, bucket as bucketOf, type S3Settings, s3Failure, withS3ErrorsUnlessMissing } from './s3-client.ts';
import { listObjects, putObject, type Target } from './s3-objects.ts';
import { sweepMultiparts, sweepUploads } from './s3-sweep.ts';
import { s3Uploads } from './s3-uploads.ts';
import type { ByteRange, Listed, Opened, Stat, Storage } from './storage.ts';

/** Objects of one bucket, reachable from every machine. */
export function s3Storage(settings: S3Settings): Storage {
  const bucket = bucketOf(settings);
  return {
    ...s3Uploads(bucket),
    put: async (key, body, options = {}) => putObject(bucket, targetOf(bucket, key), body, options.digest),
    open: (key, range) => openObject(bucket, key, range),
    stat: (key) => statObject(bucket, key),
    remove: async (key) => {
      const target = targetOf(bucket, key);
      await withS3ErrorsUnlessMissing((await bucket.client()).deleteObject(target));
    },
    list: (prefix, after) => listKeys(bucket, prefix, after),
    fileOf: async () => undefined,
    presign: (key, seconds, headers = {}) => presignObject(bucket, key, seconds, headers),
    sweep: async (untouchedSince) => (await sweepUploads(bucket, untouchedSince)) + (await sweepMultiparts(bucket, untouchedSince)),
    close: () => bucket.close(),
  };
}

const targetOf = (bucket: Bucket, key: string): Target => ({ Bucket: bucket.name, Key: bucket.at(checkKey(key)) });

async function openObject(bucket: Bucket, key: string, range?: ByteRange): Promise<Opened | undefined> {
  const from = { ...targetOf(bucket, key), Range: range && rangeHeader(range) };
  const s3 = await bucket.client();
  const object = await withS3ErrorsUnlessMissing(s3.getObject(from)).catch((error) => {
    throw error.cause?.name === 'InvalidRange' ? new RangeUnsatisfiable() : error;
  });
  if (!object) return undefined;
  const size = Number(object.ContentRange?.split('/')[1] ?? object.ContentLength);
  return { size, length: object.ContentLength!, stream: inOurWords(object.Body as Readable) };
}

async function statObject(bucket: Bucket, key: string): Promise<Stat | undefined> {
  const target = targetOf(bucket, key);
  const head = await withS3ErrorsUnlessMissing((await bucket.client()).headObject(target));
  return head && { size: head.ContentLength!, modifiedAt: head.LastModified! };
}

async function* listKeys(bucket: Bucket, prefix: string, after?: string): AsyncGenerator<Listed> {
  const root = bucket.at('');
  const uploads = bucket.at(`${uploadsFolder}/`);
  for await (const object of listObjects(await bucket.client(), bucket.name, root + prefix, after && root + after)) {
    if (!object.key.startsWith(uploads)) yield { ...object, key: object.key.slice(root.length) };
  }
}

async function presignObject(
  bucket: Bucket,
  key: string,
  seconds: number,
  headers: { contentType?: string; contentDisposition?: string },
): Promise<string> {
  const { GetObjectCommand } = await import('@aws-sdk/client-s3');
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
  const read = new GetObjectCommand({
    ...targetOf(bucket, key),
    ResponseContentType: headers.contentType,
    ResponseContentDisposition: headers.contentDisposition,
  });
  return getSignedUrl(await bucket.client(), read, { expiresIn: seconds });
}

function rangeHeader({ offset, length }: ByteRange): string {
  if (length === 0) throw new RangeUnsatisfiable(); // HTTP cannot request an empty range
  return `bytes=${offset}-${length === undefined ? '' : offset + length - 1}`;
}

/**
 * A connection that dies in the middle of an object ends the reader's stream as StorageUnavailable. A reader that leaves ends the
 * connection.
 */
function inOurWords(body: Readable): Readable {
  const stream = new PassThrough();
  finished(body, (error) => error && stream.destroy(s3Failure(error)));
  stream.once('close', () => body.destroy());
  return body.pipe(stream);
}
