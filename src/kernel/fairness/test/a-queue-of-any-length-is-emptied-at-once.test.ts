import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoundRobinQueue } from '../index.ts';

test('a queue of any length is emptied at once', () => {
  const queue = new RoundRobinQueue<number>();
  for (let item = 0; item < 300_000; item++) queue.push('one', item);
  queue.push('other', -1);
  assert.equal(queue.removeWhile((item) => item >= 0).length, 300_000);
  assert.deepEqual([queue.size, queue.keys], [1, ['other']]);
});
