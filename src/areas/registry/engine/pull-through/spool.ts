import { randomBytes } from 'node:crypto';
import { type FileHandle, mkdir, open, unlink } from 'node:fs/promises';
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
  /** True: there were readers, and all have left. Handed to the download on its own, without the spool. */
  readonly isAbandoned: () => boolean;
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

export async function openSpool(folder: string, size: number, events: SpoolEvents = {}): Promise<Spool> {
  await mkdir(folder, { recursive: true });
  const name = join(folder, `spool-${randomBytes(12).toString('hex')}`);
  const file = await open(name, 'wx+', 0o600);
  await unlink(name);
  return new SpoolFile(file, size, events);
}

class SpoolFile implements Spool {
  readonly #file: FileHandle;
  readonly #size: number;
  readonly #events: SpoolEvents;
  #writtenBytes = 0;
  /** The writer and the readers: the last one closes the file. */
  #users = 1;
  #readers = 0;
  #wasRead = false;
  #state: 'filling' | 'whole' | 'failed' = 'filling';
  #failure: unknown;
  /** Resolved when there are more bytes, at the end, and when a reader leaves. */
  #changed = Promise.withResolvers<void>();

  constructor(file: FileHandle, size: number, events: SpoolEvents) {
    this.#file = file;
    this.#size = size;
    this.#events = events;
  }

  async write(chunk: Buffer): Promise<void> {
    for (let done = 0; done < chunk.length; )
      done += (await this.#file.write(chunk, done, chunk.length - done, this.#writtenBytes + done)).bytesWritten;
    this.#writtenBytes += chunk.length;
    this.#wakeReaders();
  }

  finish(): void {
    this.#state = 'whole';
    this.#wakeReaders();
  }

  fail(error: unknown): void {
    if (this.#state === 'whole') return;
    this.#state = 'failed';
    this.#failure = error;
    this.#wakeReaders();
  }

  async *read({ offset, length } = { offset: 0, length: this.#size }, leaving?: AbortSignal): AsyncGenerator<Buffer> {
    this.#addReader();
    leaving?.addEventListener('abort', this.#wakeReaders);
    try {
      const end = offset + length;
      for (let at = offset; at < end; ) {
        if (leaving?.aborted) return;
        const limit = Math.min(end, this.#readableBytes);
        if (at < limit) {
          const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(Math.min(readBytes, limit - at)), 0, null, at);
          if (bytesRead === 0) throw new Error('the spool lost bytes');
          at += bytesRead;
          yield buffer.subarray(0, bytesRead);
        } else if (this.#state === 'failed') throw this.#failure;
        else await this.#changed.promise;
      }
    } finally {
      leaving?.removeEventListener('abort', this.#wakeReaders);
      await this.#removeReader();
    }
  }

  readonly isAbandoned = (): boolean => this.#wasRead && this.#readers === 0;

  async release(): Promise<void> {
    if (--this.#users > 0) return;
    await this.#file.close();
    this.#events.closed?.();
  }

  /** The last byte is held back until the content was verified. */
  get #readableBytes(): number {
    return this.#state === 'whole' ? this.#size : Math.min(this.#writtenBytes, this.#size - 1);
  }

  #addReader(): void {
    if (this.#users === 0) throw new Error('the spool is closed');
    this.#users++;
    this.#wasRead = true;
    this.#readers++;
    this.#events.readers?.(this.#readers);
  }

  #removeReader(): Promise<void> {
    this.#readers--;
    this.#events.readers?.(this.#readers);
    return this.release();
  }

  readonly #wakeReaders = (): void => {
    const before = this.#changed;
    this.#changed = Promise.withResolvers();
    before.resolve();
  };
}
