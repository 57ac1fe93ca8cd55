import { randomBytes } from 'node:crypto';
import { mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * A file that grows at one end while many read it. It has no name any more once it is open, so a crash leaves nothing behind.
 * The last byte is given out only by `finish`: nobody ever gets the whole of something that turned out to be wrong.
 */
export interface Spool {
  write(chunk: Buffer): Promise<void>;
  /** Everything is here and is what it should be. */
  finish(): void;
  /** Nothing more comes. What is whole stays so: its readers do not care what became of it elsewhere. */
  fail(error: unknown): void;
  read(range?: { offset: number; length: number }): AsyncGenerator<Buffer>;
  /** The writer lets go; the file goes with its last reader. */
  release(): Promise<void>;
}

/** As the small buffers of a pull: a reader that stops reading holds two of them. */
const readBytes = 64 * 1024;

/** `closed` is called once nobody uses the file any more. */
export async function openSpool(folder: string, size: number, closed: () => void = () => {}): Promise<Spool> {
  await mkdir(folder, { recursive: true });
  const name = join(folder, `spool-${randomBytes(12).toString('hex')}`);
  const file = await open(name, 'wx+', 0o600);
  await unlink(name);

  let written = 0;
  let users = 1;
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
    closed();
  };

  async function* read({ offset, length } = { offset: 0, length: size }): AsyncGenerator<Buffer> {
    const end = offset + length;
    if (users === 0) throw new Error('the spool is closed');
    users++;
    try {
      for (let at = offset; at < end; ) {
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
    release: leave,
  };
}
