import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createZstdCompress, createZstdDecompress } from 'node:zlib';
import { quotaBytesOf } from '../../../../drivers/process/index.ts';
import type { App } from '../../../../kernel/app.ts';
import { whileRoom } from '../../../../kernel/data/disk-room.ts';
import { SealBroken, sealStream, unsealStream } from '../../../../kernel/storage/sealed-stream.ts';
import { copyBytesPerSecond } from '../../rules/backups.ts';
import { tierOf } from '../../rules/tiers.ts';
import { type BackupRow, storageKeyOf } from '../../store/backups.ts';
import { paced } from './pace.ts';

/** A backup cannot be read: in a sentence for the operator and the owners. */
export class BackupUnreadable extends Error {
  constructor(sentence: string, options?: ErrorOptions) {
    super(sentence, options);
    this.name = 'BackupUnreadable';
  }
}

/** Binds an object to its row, and to the cluster that the row is of. */
const boundTo = ({ cluster_id, id }: Pick<BackupRow, 'cluster_id' | 'id'>): string => `clusters.backup ${cluster_id} ${id}`;

export const keyPlaceOf = (id: string): string => `clusters.backup.data_key.${id}`;

/**
 * The most that a copy of a store may hold. An etcd: twice its quota, which it may exceed a little. A kine: a store may be four times above its tier for
 * a moment (rules/write-size of the driver), and its rows are written in hexadecimal. A cluster's own role could make rows without end.
 */
export const maxCopyBytes = (copied: 'kine' | 'etcd', { tier, datastore }: { tier: string; datastore: { storageGiB?: number } }): number =>
  copied === 'etcd' ? 2 * quotaBytesOf(datastore) : 16 * tierOf(tier).datastoreBytes;

/** Passes the bytes on, and throws once there are more than `max`. */
async function* bounded(body: AsyncIterable<Uint8Array>, max: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > max) throw new Error('the copy is larger than any store may be');
    yield chunk;
  }
}

/** `each` is told of every chunk's length. */
async function* counted(body: AsyncIterable<Uint8Array>, each: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) {
    each(chunk.length);
    yield chunk;
  }
}

/** Through a transform of node:zlib; whichever side fails first ends both. */
async function* through(body: AsyncIterable<Uint8Array>, transform: ReturnType<typeof createZstdCompress>): AsyncGenerator<Uint8Array> {
  let failure: unknown;
  const flowing = pipeline(body, transform).catch((error) => {
    failure = error;
  });
  try {
    for await (const chunk of transform as AsyncIterable<Buffer>) yield chunk;
  } catch (error) {
    await flowing;
    throw failure ?? error;
  } finally {
    transform.destroy();
  }
  await flowing;
  if (failure) throw failure;
}

interface Written {
  content: Readable;
  maxBytes: number;
  /** Aborted when the server stops. */
  signal: AbortSignal;
  onBytes: (bytes: number) => void;
}

/** Writes the object of a backup: compressed, then sealed. Durable when it returns; a content that fails leaves nothing. */
export async function writeBackup(
  app: App,
  row: BackupRow,
  { content, maxBytes, signal, onBytes }: Written,
): Promise<{ bytes: number; contentBytes: number }> {
  const key = app.secrets.unseal(row.data_key, keyPlaceOf(row.id));
  const stop = () => content.destroy(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  try {
    signal.throwIfAborted();
    let contentBytes = 0;
    const copied = counted(bounded(paced(content, copyBytesPerSecond), maxBytes), (bytes) => {
      contentBytes += bytes;
    });
    const sealed = counted(sealStream(key, boundTo(row), through(copied, createZstdCompress())), onBytes);
    const file = await app.storage.fileOf(storageKeyOf(row));
    const { size } = await app.storage.put(storageKeyOf(row), file ? whileRoom(dirname(file), sealed) : sealed);
    return { bytes: size, contentBytes };
  } finally {
    signal.removeEventListener('abort', stop);
    content.destroy();
  }
}

/** The content of a backup, as it was copied. Ends with BackupUnreadable where the object is not as it was written. */
export async function* readBackup(
  app: App,
  row: BackupRow,
  { maxBytes, onBytes }: { maxBytes: number; onBytes: (bytes: number) => void },
): AsyncGenerator<Uint8Array> {
  const opened = await app.storage.open(storageKeyOf(row));
  if (!opened) throw new BackupUnreadable(`the backup ${row.id} is not in the storage any more; choose another one`);
  try {
    const key = app.secrets.unseal(row.data_key, keyPlaceOf(row.id));
    const sealed = counted(opened.stream as AsyncIterable<Buffer>, onBytes);
    yield* bounded(through(unsealStream(key, boundTo(row), sealed), createZstdDecompress()), maxBytes);
  } catch (error) {
    if (!(error instanceof SealBroken)) throw error;
    throw new BackupUnreadable(`the backup ${row.id} cannot be used: ${error.message}; choose another one`, { cause: error });
  } finally {
    opened.stream.destroy();
  }
}
