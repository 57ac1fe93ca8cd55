import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { makeStartLimiter } from '../../start-limiter.ts';

const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await setImmediate();
};

test('tasks that are due together start a few at a time, and a long one does not delay the others', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const pass = makeStartLimiter(2, 1_000);
  const ends: (() => void)[] = [];
  const runs = Array.from({ length: 6 }, () => pass(() => new Promise<void>((end) => ends.push(end))));
  await settle();
  assert.equal(ends.length, 2);

  ends[0]!();
  await settle();
  assert.equal(ends.length, 3, 'the next begins when one has ended');

  t.mock.timers.tick(1_000);
  await settle();
  assert.equal(ends.length, 5, 'and when those inside have run for a while');

  const failing = assert.rejects(
    pass(() => Promise.reject(new Error('no'))),
    /no/,
  );
  for (let at = 0; at < 6; at++) {
    ends[at]!();
    await settle();
  }
  await Promise.all(runs);
  await failing;
  await pass(async () => {});
  await Promise.all([pass(async () => {}), pass(async () => {}), pass(async () => {})]);
});
