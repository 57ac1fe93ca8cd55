import { randomBytes } from 'node:crypto';
import { mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A file that is written at its end while several readers follow. It is unlinked once open, so a crash leaves nothing behind. The last byte
 * is released by `finish` only: no reader gets a complete copy of wrong content.
 */
export interface Spool {
  write(chunk: Buffer): Promise<void>;
  /** The content is complete and verified. */
  finish(): void;
  /** No more bytes come. After `finish` it does nothing: a complete file stays readable even if storing the blob failed. */
  fail(error: unknown): void;
  /** `leaving`: aborted when the reader leaves; a reader that waits for bytes would not notice otherwise. */
  read(range?: { offset: number; length: number }, leaving?: AbortSignal): AsyncGenerator<Buffer>;
  /** True: there were readers, and all have left. */
  isAbandoned(): boolean;
  /** The writer is done; the file is closed with its last reader. */
  release(): Promise<void>;
}

/** The size of a pull's small buffers: a stalled reader holds two of them. */
const readBytes = 64 * 1024;

export interface SpoolEvents {
  /** Called once neither the writer nor a reader uses the file. */
  closed?: () => void;
  /** Called with the number of readers whenever it changes. */
  readers?: (count: number) => void;
}

export async function openSpool(folder: string, size: number, { closed, readers }: SpoolEvents = {}): Promise<Spool> {
  await mkdir(folder, { recursive: true });
  const name = join(folder, `spool-${randomBytes(12).toString('hex')}`);
  const file = await open(name, 'wx+', 0o600);
  await unlink(name);

  let written = 0;
  let users = 1;
  let reading = 0;
  let wasRead = false;
  let state: 'filling' | 'whole' | 'failed' = 'filling';
  let failure: unknown;
  let changed = Promise.withResolvers<void>();
  const tell = () => {
    const before = changed;
    changed = Promise.withResolvers();
    before.resolve();
  };
  const leave = async () => {
    if (--users > 0) return;
    await file.close();
    closed?.();
  };

  async function* read({ offset, length } = { offset: 0, length: size }, leaving?: AbortSignal): AsyncGenerator<Buffer> {
    const end = offset + length;
    if (users === 0) throw new Error('the spool is closed');
    users++;
    wasRead = true;
    reading++;
    readers?.(reading);
    leaving?.addEventListener('abort', tell);
    try {
      for (let at = offset; at < end; ) {
        if (leaving?.aborted) return;
        const limit = Math.min(end, state === 'whole' ? size : Math.min(written, size - 1));
        if (at >= limit) {
          if (state === 'failed') throw failure;
          await changed.promise;
          continue;
        }
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(Math.min(readBytes, limit - at)), 0, null, at);
        if (bytesRead === 0) throw new Error('the spool lost bytes');
        at += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } finally {
      leaving?.removeEventListener('abort', tell);
      reading--;
      readers?.(reading);
      await leave();
    }
  }

  return {
    write: async (chunk) => {
      for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done, chunk.length - done, written + done)).bytesWritten;
      written += chunk.length;
      tell();
    },
    finish: () => {
      state = 'whole';
      tell();
    },
    fail: (error) => {
      if (state === 'whole') return;
      [state, failure] = ['failed', error];
      tell();
    },
    read,
    isAbandoned: () => wasRead && reading === 0,
    release: leave,
  };
}
