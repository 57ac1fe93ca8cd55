import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { chooseRange, chooseUser, isInRange, namedIn, type SystemFiles } from '../rules/users.ts';

const files = (some: Partial<SystemFiles> = {}): SystemFiles => ({
  named: ['root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n', 'root:x:0:\n'],
  subordinate: ['alice:100000:65536\n', ''],
  maps: ['         0          0 4294967295\n', '         0          0 4294967295\n'],
  ...some,
});

test('a range of user ids is the operator’s, or one that exists and is unused', () => {
  const usual = { first: 1_900_000_000, last: 1_900_999_999 };
  const few = { first: 20_000, last: 59_999 };
  assert.deepEqual(chooseRange(undefined, files()), usual);
  assert.deepEqual(chooseRange({ first: 5_000, last: 6_000 }, files()), { first: 5_000, last: 6_000 });
  // A used name, a delegated range, a container with few ids, a system without the files.
  assert.deepEqual(chooseRange(undefined, files({ named: ['x:x:1900000007:1::/:/bin/sh\n'] })), few);
  assert.deepEqual(chooseRange(undefined, files({ subordinate: ['x:1800000000:200000000\n'] })), few);
  assert.deepEqual(chooseRange(undefined, files({ maps: ['0 100000 65536\n', '0 100000 65536\n'] })), few);
  assert.deepEqual(chooseRange(undefined, files({ maps: ['0 0 4294967295\n', '0 100000 65536\n'] })), few);
  assert.deepEqual(chooseRange(undefined, files({ named: [], subordinate: [], maps: ['', ''] })), usual);
  // A container with a single user has no range.
  assert.equal(chooseRange(undefined, files({ maps: ['0 1000 1\n', '0 1000 1\n'] })), undefined);
  assert.deepEqual([...namedIn(files())], [0, 65_534]);
});

test('a cluster keeps its user id unless another user has it, and never gets one in use', () => {
  const range = { first: 1_000, last: 1_040 };
  fc.assert(
    fc.property(fc.string(), fc.uniqueArray(fc.integer({ min: 990, max: 1_050 })), (cluster, numbers) => {
      const taken = new Set(numbers);
      const wanted = chooseUser(range, cluster, new Set())!;
      const user = chooseUser(range, cluster, taken);
      assert.equal(user, chooseUser(range, cluster, taken));
      if (user === undefined) return assert.ok(Array.from({ length: 40 }, (_, n) => 1_001 + n).every((id) => taken.has(id)));
      assert.ok(isInRange(range, user) && user !== range.first && !taken.has(user));
      if (!taken.has(wanted)) assert.equal(user, wanted);
    }),
  );
  const all = new Set(Array.from({ length: 40 }, (_, n) => 1_001 + n));
  assert.equal(chooseUser(range, 'cls_1', all), undefined);
});
