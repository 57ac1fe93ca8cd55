import type { ListMultipartUploadsCommandOutput } from '@aws-sdk/client-s3';
import { uploadsFolder } from './keys.ts';
import { type Bucket, inParallel, withS3Errors, withS3ErrorsUnlessMissing } from './s3-client.ts';
import { listObjects } from './s3-objects.ts';

// Removes leftovers of crashed writers from a bucket. Each function returns how many it removed.

/** Uploads without newer pieces. */
export async function sweepUploads(bucket: Bucket, untouchedSince: Date): Promise<number> {
  const s3 = await bucket.client();
  const leftovers = await untouchedUploads(bucket, untouchedSince);
  for (const keys of leftovers) {
    await inParallel(8, keys, async (Key) => void (await withS3ErrorsUnlessMissing(s3.deleteObject({ Bucket: bucket.name, Key }))));
  }
  return leftovers.length;
}

/** The keys of each such upload. */
async function untouchedUploads(bucket: Bucket, untouchedSince: Date): Promise<string[][]> {
  const uploads = bucket.at(`${uploadsFolder}/`);
  const folders = new Map<string, { keys: string[]; untouched: boolean }>();
  for await (const { key, modifiedAt } of listObjects(await bucket.client(), bucket.name, uploads)) {
    const name = key.slice(uploads.length).split('/')[0]!;
    const folder = folders.getOrInsertComputed(name, () => ({ keys: [], untouched: true }));
    folder.keys.push(key);
    if (modifiedAt >= untouchedSince) folder.untouched = false;
  }
  return [...folders.values()].filter((folder) => folder.untouched).map((folder) => folder.keys);
}

/**
 * Parts of a put that a crash interrupted: invisible, and billed until they are aborted. (MinIO lists none without the exact key, and
 * expires them itself.)
 */
export async function sweepMultiparts(bucket: Bucket, untouchedSince: Date): Promise<number> {
  const s3 = await bucket.client();
  let swept = 0;
  let slice: ListMultipartUploadsCommandOutput | undefined;
  do {
    const next = { KeyMarker: slice?.NextKeyMarker, UploadIdMarker: slice?.NextUploadIdMarker };
    slice = await withS3Errors(s3.listMultipartUploads({ Bucket: bucket.name, Prefix: bucket.at(''), ...next }));
    for (const { Key, UploadId, Initiated } of slice.Uploads ?? []) {
      if (Initiated! >= untouchedSince) continue;
      await withS3ErrorsUnlessMissing(s3.abortMultipartUpload({ Bucket: bucket.name, Key, UploadId }));
      swept++;
    }
  } while (slice.IsTruncated);
  return swept;
}
