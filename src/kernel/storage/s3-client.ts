import type { S3 } from '@aws-sdk/client-s3';
import { MiB } from './body.ts';
import { StorageFull, StorageUnavailable } from './errors.ts';
import { checkKey } from './keys.ts';

export interface S3Settings {
  /** Absent: AWS, found by the region. */
  endpoint?: string;
  region: string;
  bucket: string;
  /** A folder of the bucket for this installation alone. */
  prefix?: string;
  accessKeyId: string;
  secretAccessKey: string;
  forcePathStyle?: boolean;
  /** The size of the first parts of an object, and of the pieces of an upload. S3 takes no part below 5 MiB but the last. */
  partBytes?: number;
  /**
   * Timeouts for a server that refuses connections, accepts none, goes silent or is slow; and the number of attempts before it counts as
   * unavailable.
   */
  limits?: { attempts?: number; connectMs?: number; silenceMs?: number; answerMs?: number };
}

export interface Bucket {
  name: string;
  /** The key of an object in the bucket. */
  at(key: string): string;
  /** S3 takes 10,000 parts, each but the last of 5 MiB or more: growing parts keep our buffers small and still reach 430 GiB. */
  partSize(index: number): number;
  /** Created on first use: the library costs 35 MiB, and most installations store files. */
  client(): Promise<S3>;
  close(): Promise<void>;
}

export function bucket(settings: S3Settings): Bucket {
  const folder = settings.prefix ? `${checkKey(settings.prefix.replace(/\/$/, ''))}/` : '';
  const { partBytes = 8 * MiB } = settings;
  const { attempts = 3, connectMs = 3_000, silenceMs = 20_000, answerMs = 60_000 } = settings.limits ?? {};
  let connected: Promise<S3> | undefined;

  const connect = async () => {
    const { S3 } = await import('@aws-sdk/client-s3');
    return new S3({
      endpoint: settings.endpoint,
      region: settings.region,
      forcePathStyle: settings.forcePathStyle,
      credentials: { accessKeyId: settings.accessKeyId, secretAccessKey: settings.secretAccessKey },
      maxAttempts: attempts,
      requestHandler: {
        connectionTimeout: connectMs,
        socketTimeout: silenceMs,
        requestTimeout: answerMs,
        throwOnRequestTimeout: true,
      },
      // Bodies are signed by their SHA-256 already. The library's newer checksums are trailers that not every server understands.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // With it the library opens a new connection for every large part.
      expectContinueHeader: false,
    });
  };

  return {
    name: settings.bucket,
    at: (key) => folder + key,
    partSize: (index) => partBytes * (1 + Math.floor(index / 1000)),
    client: () => (connected ??= connect()),
    close: async () => (await connected)?.destroy(),
  };
}

/** Awaits S3's response and converts its errors, with the original as the cause. */
export const withS3Errors = <T>(answer: Promise<T>): Promise<T> =>
  answer.catch((error) => {
    throw s3Failure(error);
  });

export const withS3ErrorsUnlessMissing = <T>(answer: Promise<T>): Promise<T | undefined> =>
  answer.catch((error) => {
    if (['NoSuchKey', 'NotFound', 'NoSuchUpload'].includes(error.name)) return undefined;
    throw s3Failure(error);
  });

export function s3Failure(error: Error & { $metadata?: { httpStatusCode?: number } }): Error {
  const full = error.$metadata?.httpStatusCode === 507 || ['QuotaExceeded', 'XMinioAdminBucketQuotaExceeded'].includes(error.name);
  return full ? new StorageFull(error) : new StorageUnavailable(error);
}

/** Runs a few requests at a time; the first failure ends it, once those in flight have ended. */
export async function inParallel<T>(width: number, items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  // One generator for all workers: the worker that throws closes it, and the others find nothing more to do.
  const queue = (function* () {
    yield* items.entries();
  })();
  const worker = async () => {
    for (const [index, item] of queue) await work(item, index);
  };
  const workers = await Promise.allSettled(Array.from({ length: width }, worker));
  for (const ended of workers) if (ended.status === 'rejected') throw ended.reason;
}
