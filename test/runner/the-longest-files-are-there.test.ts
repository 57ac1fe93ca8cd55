import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { readLongest } from './order.ts';

test('a file that is begun early because it takes long is there', () => {
  const gone = Object.keys(readLongest()).filter((file) => !existsSync(file));
  assert.deepEqual(gone, [], 'take their lines out of test/runner/longest.json, or write their new names there');
});
