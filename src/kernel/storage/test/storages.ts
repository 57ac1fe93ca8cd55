import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { TestContext } from 'node:test';
import { fakeS3 } from '../../../../test/fakes/s3.ts';
import { fileStorage, type S3Settings, type Storage, s3Storage } from '../index.ts';

export const MiB = 1024 * 1024;
/** The cut into parts does not depend on their size: small ones are hashed and sent quickly. */
export const smallPart = 8 * 65_536;

export interface Kind {
  name: string;
  /** Bytes of a part. */
  part: number;
  /** `open` called twice is a restart: the same bytes, no memory. */
  prepare(t: TestContext, options?: { isInEarnest?: boolean }): Promise<{ open(): Promise<Storage> }>;
}

/** Every kind of storage that the contract holds for; in full runs, with parts as large as in production. */
export const storages: Kind[] = [
  {
    name: 'files',
    part: smallPart,
    async prepare(t) {
      const root = await temporaryDirectory(t);
      return { open: () => fileStorage(root) };
    },
  },
  {
    name: 'S3',
    part: smallPart,
    async prepare(t, { isInEarnest = false } = {}) {
      const fake = await fakeS3(isInEarnest ? {} : { partBytes: smallPart });
      t.after(() => fake.stop());
      return { open: async () => opened(t, fake) };
    },
  },
];

/** A real server, given as http://key:secret@host:port/bucket, has to keep the same contract. */
const real = process.env.QUARTERDECK_TEST_S3;
if (real) {
  const { protocol, host, username, password, pathname } = new URL(real);
  const settings = { endpoint: `${protocol}//${host}`, region: 'us-east-1', bucket: pathname.slice(1), forcePathStyle: true };
  const credentials = { accessKeyId: username, secretAccessKey: decodeURIComponent(password) };
  storages.push({
    name: 'the S3 server of QUARTERDECK_TEST_S3',
    part: 8 * MiB,
    async prepare(t) {
      const prefix = `contract-${randomUUID()}`;
      return { open: async () => opened(t, { ...settings, ...credentials, prefix }) };
    },
  });
}

export function opened(t: TestContext, settings: S3Settings): Storage {
  const storage = s3Storage(settings);
  t.after(() => storage.close());
  return storage;
}

export async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'quarterdeck-storage-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** The same bytes for the same seed, and no two regions alike: a lost or duplicated piece is detected. */
export function sampleBytes(size: number, seed = 1): Buffer {
  const words = new Int32Array(Math.ceil(size / 4));
  let state = seed;
  for (let at = 0; at < words.length; at++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    words[at] = state;
  }
  return Buffer.from(words.buffer, 0, size);
}

export const sha256 = (bytes: Uint8Array) => `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/** The key that a registry would use. */
export const blobKey = (digest: string) => digest.replace(/^(\w+):(..)(.*)$/, '$1/$2/$2$3');

export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

/** A sender whose connection dies after these bytes. */
export async function* cutOffAfter(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield* inPieces(bytes, 64 * 1024);
  throw new Error('the sender went away');
}

export async function readAll(storage: Storage, key: string): Promise<Buffer | undefined> {
  const object = await storage.open(key);
  return object && Buffer.concat(await object.stream.toArray());
}

export async function keysOf(storage: Storage, prefix = '', after?: string): Promise<string[]> {
  return (await Array.fromAsync(storage.list(prefix, after))).map(({ key }) => key);
}
