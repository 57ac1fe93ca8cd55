import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '../errors.ts';
import { paginate, paginationOf } from '../pagination.ts';

const id = fc.stringMatching(/^[a-z]{3}_[0-9A-Z]{26}$/);

test('slice after slice gives everything once, in order, and then no cursor', () => {
  fc.assert(
    fc.property(fc.uniqueArray(id, { maxLength: 40 }), fc.integer({ min: 1, max: 10 }), (ids, limit) => {
      const all = ids.sort().reverse(); // newest first
      const seen: string[] = [];
      let cursor: string | undefined;
      for (let slices = 0; ; slices++) {
        assert.ok(slices <= all.length, 'it never ends');
        const slice = paginationOf({ limit, ...(cursor ? { cursor } : {}) });
        const from = slice.after === null ? 0 : all.findIndex((x) => x < slice.after!);
        // As a store does: one row more than the limit.
        const { items, cursor: next } = paginate(from < 0 ? [] : all.slice(from, from + slice.limit + 1), slice, (x) => x);
        assert.ok(items.length <= limit);
        seen.push(...items);
        if (!next) break;
        assert.match(next, /^[A-Za-z0-9_-]+$/); // fit for a URL as it is
        cursor = next;
      }
      assert.deepEqual(seen, all);
    }),
  );
});

test('a cursor that we did not make is refused', () => {
  const made = paginate(['tok_1', 'tok_2'], { limit: 1, after: null }, (x) => x).cursor!;
  assert.equal(paginationOf({ cursor: made }).after, 'tok_1');
  assert.deepEqual(paginationOf({}), { limit: 1000, after: null });
  for (const cursor of [
    '',
    ' ',
    '%',
    'tok_1',
    `${made}=`,
    `${made}x!`,
    Buffer.from("x' or 1=1").toString('base64url'),
    Buffer.from('a\0b').toString('base64url'),
    Buffer.from('é').toString('base64url'),
    'A'.repeat(600),
  ]) {
    assert.throws(
      () => paginationOf({ cursor }),
      (error) =>
        error instanceof Refusal && error.status === 400 && /the cursor is not one of ours; start again without it/.test(error.message),
      cursor,
    );
  }
});
