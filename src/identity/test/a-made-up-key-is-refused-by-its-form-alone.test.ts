import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../../test/harness/any-text.ts';
import { hashKey, kindOf, kinds, mintKey } from '../token-format.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

test('every minted key is of its kind, shows its first characters, and is unlike every other', () => {
  const seen = new Set<string>();
  for (const kind of kinds) {
    for (let n = 0; n < 2_000; n++) {
      const { key, start, hash } = mintKey(kind);
      assert.match(key, new RegExp(`^qd_${kind}_[0-9A-Za-z]{38}$`));
      assert.equal(kindOf(key), kind);
      assert.equal(start, key.slice(0, `qd_${kind}_`.length + 4));
      assert.deepEqual(hash, hashKey(key));
      seen.add(key);
    }
  }
  assert.equal(seen.size, kinds.length * 2_000);
});

test('its characters are drawn evenly', () => {
  const counts = new Map<string, number>();
  const draws = 5_000 * 32;
  for (let n = 0; n < 5_000; n++) for (const c of mintKey('pat').key.slice(7, 39)) counts.set(c, (counts.get(c) ?? 0) + 1);
  const expected = draws / 62;
  const chiSquare = [...base62].reduce((sum, c) => sum + ((counts.get(c) ?? 0) - expected) ** 2 / expected, 0);
  assert.ok(chiSquare < 130, `chi² ${chiSquare}`); // 61 degrees of freedom: beyond 130 once in a million runs
});

test('one changed, missing, added or swapped character is refused', () => {
  for (let n = 0; n < 50; n++) {
    const { key } = mintKey('pat');
    for (let at = 0; at < key.length; at++) {
      for (const c of ['0', 'A', 'z', '-', 'é'])
        if (c !== key[at]) assert.equal(kindOf(key.slice(0, at) + c + key.slice(at + 1)), undefined);
      assert.equal(kindOf(key.slice(0, at) + key.slice(at + 1)), undefined);
      assert.equal(kindOf(`${key.slice(0, at)}A${key.slice(at)}`), undefined);
      const swapped = key.slice(0, at) + (key[at + 1] ?? '') + key[at] + key.slice(at + 2);
      if (swapped !== key) assert.equal(kindOf(swapped), undefined);
    }
    for (const around of [` ${key}`, `${key} `, `${key}\n`, `${key}${key}`]) assert.equal(kindOf(around), undefined);
  }
  // The checksum covers the kind: a key of one kind does not pass for another.
  const { key } = mintKey('pat');
  for (const kind of kinds) if (kind !== 'pat') assert.equal(kindOf(key.replace('_pat_', `_${kind}_`)), undefined);
});

test('a hundred thousand made-up keys, none is taken', () => {
  const bytes = randomBytes(100_000 * 38);
  for (let n = 0; n < 100_000; n++) {
    let body = '';
    for (let i = 0; i < 38; i++) body += base62[bytes[n * 38 + i]! % 62];
    assert.equal(kindOf(`qd_pat_${body}`), undefined);
  }
});

test('no text at all makes it throw', () => {
  fc.assert(
    fc.property(fc.oneof(anyText(), fc.stringMatching(/^qd_[a-z]{0,12}_[0-9A-Za-z]{30,50}$/)), (text) => {
      assert.equal(kindOf(text), undefined);
    }),
    { numRuns: 2_000 },
  );
  for (const name of ['toString', '__proto__', 'constructor']) assert.equal(kindOf(`qd_${name}_${'0'.repeat(38)}`), undefined);
});
