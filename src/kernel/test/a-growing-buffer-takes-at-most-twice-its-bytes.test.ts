import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { GrowingBuffer, gather } from '../buffers/growing-buffer.ts';

/** Chunks as Node delivers them: some with a buffer of their own, some a slice of 64 KiB. */
const piece = fc.tuple(fc.uint8Array({ maxLength: 3_000 }), fc.boolean()).map(([bytes, isCorner]) => {
  if (!isCorner) return bytes;
  const read = Buffer.allocUnsafeSlow(65_536);
  read.set(bytes, 100);
  return read.subarray(100, 100 + bytes.length);
});

test('whatever is added comes back, exactly, and takes at most twice its bytes meanwhile', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
      const whole = Buffer.concat(pieces);
      const gathered = new GrowingBuffer();
      for (const each of pieces) {
        gathered.add(each);
        assert.ok(gathered.capacity <= Math.max(1024, 2 * gathered.length), `${gathered.capacity} for ${gathered.length}`);
      }
      assert.equal(gathered.length, whole.length);
      const bytes = gathered.bytes();
      assert.ok(bytes.equals(whole));
      assert.ok(bytes.buffer.byteLength <= Math.max(pieces.length ? 2 * bytes.length : 0, bytes.length));
    }),
  );
});

test('one-byte chunks cost bytes, and doubling ends at the limit', () => {
  const most = 100_000;
  const gathered = new GrowingBuffer(most);
  for (let at = 0; at < most; at++) {
    gathered.add(Buffer.from([at % 251]));
    assert.ok(gathered.capacity <= Math.min(most, Math.max(1024, 2 * gathered.length)));
  }
  const bytes = gathered.bytes();
  assert.equal(bytes.length, most);
  assert.equal(bytes.buffer.byteLength, most);
  assert.ok(bytes.every((byte, at) => byte === at % 251));
});

test('the only chunk is handed through, and is never written into', async () => {
  const only = Buffer.allocUnsafeSlow(10).fill('a');
  const alone = new GrowingBuffer();
  alone.add(only);
  assert.equal(alone.bytes().buffer, only.buffer);
  const early = alone.bytes();
  alone.add(Buffer.from('b'));
  assert.equal(String(alone.bytes()), 'aaaaaaaaaab');
  assert.equal(String(early), 'aaaaaaaaaa');
  assert.equal(String(only), 'aaaaaaaaaa');

  async function* stream() {
    yield only;
    yield Buffer.from('c');
  }
  assert.equal(String(await gather(stream())), 'aaaaaaaaaac');
});
