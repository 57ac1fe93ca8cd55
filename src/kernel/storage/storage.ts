import type { Readable } from 'node:stream';
import type { Body } from './body.ts';

/**
 * The storage of blobs and mail bodies: files of this machine, or an S3 bucket that every machine reaches.
 *
 * Keys are chosen and sharded by the caller (`sha256/ab/abcdef….17`), and no key is a directory of another. An object is whole or absent,
 * never partial. Writing a key again replaces it, and a reader of the old version reads it to its end.
 *
 * An upload is bytes without a key yet. All of its state is in the storage, so its id is enough: any process that reaches the storage can
 * continue it. One process works on an upload at a time; between processes the caller's row decides, which it checks before every write
 * (`mayWrite`).
 */
export interface Storage {
  /** Durable when it returns. A body that fails, or does not match `digest`, leaves nothing. */
  put(key: string, body: Body, options?: { digest?: string }): Promise<{ size: number; digest: string }>;
  open(key: string, range?: ByteRange): Promise<Opened | undefined>;
  stat(key: string): Promise<Stat | undefined>;
  /** A missing object is no error. */
  remove(key: string): Promise<void>;
  /** In byte order of the keys, starting after `after`, so the last key seen is the cursor. */
  list(prefix: string, after?: string): AsyncIterable<Listed>;

  createUpload(): Promise<string>;
  uploadOffset(id: string): Promise<number>;
  /** Returns the new offset. When the body fails, the received bytes are kept, and uploadOffset tells how many. */
  append(id: string, offset: number, body: Body, options?: AppendOptions): Promise<number>;
  /**
   * Durable when it returns. With `digest` all bytes are read back first: for a caller that did not hash them while they arrived. A caller
   * that did passes the hashed `size`: any other size is UploadBusy, since another process wrote meanwhile. After a lost response, retry:
   * UploadUnknown then means that the key exists.
   */
  commit(id: string, key: string, options?: { digest?: string; size?: number }): Promise<{ size: number }>;
  abort(id: string): Promise<void>;

  /** A URL from which anyone can read the object until it expires; undefined where the storage has none. */
  presign(key: string, seconds: number, answer?: { contentType?: string; contentDisposition?: string }): Promise<string | undefined>;
  /**
   * The file of an object with this key, in durable directories: for a writer that appends and syncs it itself. Undefined where objects are
   * not files.
   */
  fileOf(key: string): Promise<string | undefined>;
  /** Removes leftovers of crashed writers that are untouched since. Returns how many. */
  sweep(untouchedSince: Date): Promise<number>;
  close(): Promise<void>;
}

export interface AppendOptions {
  /** Called before each write: throws once another process may write to the upload. */
  mayWrite?: () => Promise<void>;
}

export interface ByteRange {
  offset: number;
  length?: number;
}

export interface Stat {
  size: number;
  modifiedAt: Date;
}

export interface Listed extends Stat {
  key: string;
}

export interface Opened {
  /** Of the whole object. */
  size: number;
  /** Of this stream. */
  length: number;
  stream: Readable;
}
