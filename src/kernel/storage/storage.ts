import type { Readable } from 'node:stream';
import type { Body } from './body.ts';

/** Where blobs and mail bodies live: files of this machine, or an S3 bucket that every machine reaches.
 *
 *  Keys are the caller's, sharded by the caller (`sha256/ab/abcdef….17`), and no key is a directory of another. An object is whole
 *  or absent, never half there; writing a key again replaces it, and whoever reads the old one reads it to its end.
 *
 *  An upload is bytes without a name yet. All of its state is in the storage, so its id is the only thing to remember: any process
 *  that reaches the storage goes on with it. One process works on an upload at a time; between processes the caller's row decides,
 *  which it has asked before every write (`mayWrite`). */
export interface Storage {
  /** Durable when it returns. A body that ends badly, or is not what `digest` says, leaves nothing. */
  put(key: string, body: Body, options?: { digest?: string }): Promise<{ size: number; digest: string }>;
  open(key: string, range?: ByteRange): Promise<Opened | undefined>;
  stat(key: string): Promise<Stat | undefined>;
  /** Removing what is not there is fine. */
  remove(key: string): Promise<void>;
  /** In byte order of the keys, starting after `after`, so the last key seen is the cursor. */
  list(prefix: string, after?: string): AsyncIterable<Listed>;

  createUpload(): Promise<string>;
  uploadOffset(id: string): Promise<number>;
  /** Returns the new offset. When the body ends badly what had arrived is kept, and uploadOffset tells how much that was. */
  append(id: string, offset: number, body: Body, options?: AppendOptions): Promise<number>;
  /** Durable when it returns. With `digest` all bytes are read back first: for a caller that did not hash them itself as they came.
   *  One that did says how many it hashed: with more or fewer than `size` it is UploadBusy, for somebody else wrote meanwhile.
   *  After a lost answer, try again: UploadUnknown then means that the key is there. */
  commit(id: string, key: string, options?: { digest?: string; size?: number }): Promise<{ size: number }>;
  abort(id: string): Promise<void>;

  /** An address from which anybody can read the object until it expires; undefined where the storage has none to give. */
  presign(key: string, seconds: number, answer?: { contentType?: string; contentDisposition?: string }): Promise<string | undefined>;
  /** The file in which an object of this name lies, its directories made to last: for a writer that adds to it itself and syncs it.
   *  Undefined where objects are not files. */
  fileOf(key: string): Promise<string | undefined>;
  /** Throws away what crashed writers left behind and nobody touched since. Returns how many things that were. */
  sweep(untouchedSince: Date): Promise<number>;
  close(): Promise<void>;
}

export interface AppendOptions {
  /** Asked before each write: throws once another process may write to the upload. */
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
