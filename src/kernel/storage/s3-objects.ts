import type { CompletedPart, S3 } from '@aws-sdk/client-s3';
import { type Body, digesting, pump } from './body.ts';
import { type Bucket, withS3Errors } from './s3-client.ts';
import type { Listed } from './storage.ts';

export interface Target {
  Bucket: string;
  Key: string;
}
type Part = Target & { UploadId: string; PartNumber: number };
type SendPart = (index: number, send: (part: Part) => Promise<string | undefined>) => Promise<void>;

/** A body that fits one part is one request; a larger one is uploaded part by part and appears only when complete. */
export async function putObject(bucket: Bucket, target: Target, body: Body, expected?: string): Promise<{ size: number; digest: string }> {
  const s3 = await bucket.client();
  const content = digesting(body, expected);
  let begun = 0;
  let size = 0;
  let digest = '';
  await multipart(s3, target, (sendPart) =>
    pump(
      content,
      () => bucket.partSize(begun),
      async (bytes, last) => {
        const index = begun++;
        size += bytes.length;
        if (last) digest = content.finish(); // before the last bytes leave: an object put by one request cannot be taken back
        if (last && index === 0) await withS3Errors(s3.putObject({ ...target, Body: bytes }));
        else if (bytes.length > 0)
          await sendPart(index, async (part) => (await withS3Errors(s3.uploadPart({ ...part, Body: bytes }))).ETag);
      },
    ),
  );
  return { size, digest };
}

/** Begins with the first part that is sent, completes when the work has ended, and is aborted when it has failed. */
export async function multipart(s3: S3, target: Target, work: (sendPart: SendPart) => Promise<void>): Promise<void> {
  const Parts: CompletedPart[] = [];
  let begun: Promise<string> | undefined;
  const begin = async () => (await withS3Errors(s3.createMultipartUpload(target))).UploadId!;

  const sendPart: SendPart = async (index, send) => {
    begun ??= begin();
    const PartNumber = index + 1;
    Parts[index] = { PartNumber, ETag: await send({ ...target, UploadId: await begun, PartNumber }) };
  };

  try {
    await work(sendPart);
    if (begun) await withS3Errors(s3.completeMultipartUpload({ ...target, UploadId: await begun, MultipartUpload: { Parts } }));
  } catch (error) {
    const UploadId = await begun?.catch(() => undefined);
    if (UploadId) await s3.abortMultipartUpload({ ...target, UploadId }).catch(() => {}); // otherwise the sweep finds it
    throw error;
  }
}

export async function* listObjects(s3: S3, Bucket: string, Prefix: string, after?: string): AsyncGenerator<Listed> {
  let ContinuationToken: string | undefined;
  do {
    const slice = await withS3Errors(s3.listObjectsV2({ Bucket, Prefix, StartAfter: after, ContinuationToken }));
    for (const { Key, Size, LastModified } of slice.Contents ?? []) yield { key: Key!, size: Size!, modifiedAt: LastModified! };
    ContinuationToken = slice.NextContinuationToken;
  } while (ContinuationToken);
}
