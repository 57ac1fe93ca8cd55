import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { newStreamKey, SealBroken, sealStream, unsealStream } from '../sealed-stream.ts';

const piece = 2 ** 20 + 16;

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function joined(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const key = newStreamKey();
const seal = (bytes: Buffer, where = 'here') => joined(sealStream(key, where, chunksOf(bytes, 50_000)));
const open = (sealed: Buffer, where = 'here', with_ = key) => joined(unsealStream(with_, where, chunksOf(sealed, 70_000)));

test('a sealed stream opens as it was, whatever its length', async () => {
  for (const length of [0, 1, piece - 16, piece - 15, 2 * (piece - 16), 2_500_000]) {
    const bytes = randomBytes(length);
    assert.ok((await open(await seal(bytes))).equals(bytes), `${length} bytes`);
  }
});

test('a stream that is cut off, extended, reordered, or sealed for something else does not open', async () => {
  const bytes = randomBytes(2 * (piece - 16) + 1_000);
  const sealed = await seal(bytes);
  const parts = [sealed.subarray(0, piece), sealed.subarray(piece, 2 * piece), sealed.subarray(2 * piece)];
  const broken: Record<string, Buffer> = {
    'nothing of it': Buffer.alloc(0),
    'cut off between two pieces': Buffer.concat(parts.slice(0, 2)),
    'cut off in a piece': sealed.subarray(0, piece + 100),
    'without its first piece': Buffer.concat(parts.slice(1)),
    'two pieces swapped': Buffer.concat([parts[1]!, parts[0]!, parts[2]!]),
    'a piece twice': Buffer.concat([parts[0]!, parts[0]!, parts[1]!, parts[2]!]),
    'with more behind it': Buffer.concat([sealed, Buffer.alloc(40)]),
  };
  for (const [what, each] of Object.entries(broken)) await assert.rejects(open(each), SealBroken, what);
  await assert.rejects(open(sealed, 'there'), SealBroken);
  await assert.rejects(open(sealed, 'here', newStreamKey()), SealBroken);
});

test('no bit of a sealed stream can be changed', async () => {
  const sealed = await seal(randomBytes(3_000));
  await fc.assert(
    fc.asyncProperty(fc.nat(sealed.length - 1), fc.nat(7), async (at, bit) => {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1 << bit;
      await assert.rejects(open(changed), SealBroken);
    }),
    { numRuns: 50 },
  );
});
