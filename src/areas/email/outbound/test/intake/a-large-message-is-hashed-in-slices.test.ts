import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepare } from '../../engine/intake/prepare.ts';

test('a large message is hashed in many turns, to the same hash', async () => {
  const content = Buffer.from(`From: a@example.com\r\n\r\n${'a \r\n'.repeat(2 ** 21)}`);
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const sliced = await prepare({ app: { storage: {} as never } }, { content } as never);
  isOver = true;
  assert.ok(turns > 30, String(turns));
  const { makeBodyHash } = await import('../../clients/dkim.ts');
  const hash = makeBodyHash();
  hash.update(content.subarray(23));
  assert.deepEqual([sliced.headerBytes, sliced.bodyHash], [23, hash.digest()]);
});
