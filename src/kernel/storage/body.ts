import { createHash } from 'node:crypto';
import { invalid } from '../errors.ts';
import { DigestMismatch } from './errors.ts';

export type Body = AsyncIterable<Uint8Array> | Uint8Array;

export const MiB = 1024 * 1024;

export const chunksOf = (body: Body): AsyncIterable<Uint8Array> => (body instanceof Uint8Array ? inChunks(body) : body);

/** Hashing 200 MB in one call would block the event loop. */
async function* inChunks(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += MiB) yield bytes.subarray(at, at + MiB);
}

/**
 * Collects a body into buffers of the wanted size and writes each while the next one fills: two buffers, whatever the body's length. Bytes
 * are copied, because a sender of one-byte chunks must cost us bytes, not as many objects. `write` runs once more at the end with the rest,
 * perhaps nothing. A body that fails does not get that call, unless its start is worth keeping.
 */
export async function pump(
  body: Body,
  capacity: () => number,
  write: (bytes: Buffer, last: boolean) => Promise<void>,
  whenBodyFails: 'drop' | 'keep' = 'drop',
): Promise<void> {
  let filling: Buffer = Buffer.allocUnsafeSlow(capacity());
  let spare: Buffer | undefined;
  let filled = 0;
  let writing: Promise<void> = Promise.resolve();

  const flush = async (last: boolean) => {
    await writing;
    writing = write(filling.subarray(0, filled), last);
    writing.catch(() => {}); // the next await gets its failure
    const next = spare?.length === capacity() ? spare : undefined;
    [filling, spare, filled] = [next ?? Buffer.allocUnsafeSlow(last ? 0 : capacity()), filling, 0];
  };

  let whole = false;
  try {
    for await (const chunk of chunksOf(body)) {
      for (let taken = 0; taken < chunk.length; ) {
        const piece = chunk.subarray(taken, taken + filling.length - filled);
        filling.set(piece, filled);
        filled += piece.length;
        taken += piece.length;
        if (filled === filling.length) await flush(false);
      }
    }
    whole = true;
  } finally {
    if (whole || whenBodyFails === 'keep') await flush(true);
    await writing;
  }
}

/** Hashes a body while it is read. `finish` returns its digest, and refuses when that is not the expected one. */
export function digesting(body: Body, expected?: string) {
  const algorithm = expected === undefined ? 'sha256' : algorithmOf(expected);
  const hash = createHash(algorithm);
  return {
    async *[Symbol.asyncIterator]() {
      for await (const chunk of chunksOf(body)) {
        hash.update(chunk);
        yield chunk;
      }
    },
    finish(): string {
      const actual = `${algorithm}:${hash.digest('hex')}`;
      if (expected !== undefined && actual !== expected) throw new DigestMismatch(expected, actual);
      return actual;
    },
  };
}

function algorithmOf(digest: string): string {
  const [, algorithm] = /^(sha256(?=:[0-9a-f]{64}$)|sha512(?=:[0-9a-f]{128}$)):/.exec(digest) ?? [];
  return algorithm ?? invalid(`"${digest}" is no digest; use sha256: or sha512: and its hexadecimal digits`);
}

export async function verify(body: Body, expected: string): Promise<void> {
  const content = digesting(body, expected);
  for await (const _ of content);
  content.finish();
}
