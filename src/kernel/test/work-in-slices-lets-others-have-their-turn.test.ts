import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapInSteps } from '../steps.ts';
import { runAtQuarterLoad, runYielding } from '../yielding.ts';

test('work in slices comes to the same, and others have their turn between two of them', async () => {
  const items = Array.from({ length: 5_000 }, (_, i) => i);
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const doubled = await runYielding(mapInSteps(items, (i) => 2 * i));
  clearImmediate(timer);
  assert.deepEqual(
    doubled,
    items.map((i) => 2 * i),
  );
  assert.ok(turns >= 9, `${turns} turns`);
});

test('a rest ends at once when the task is to end', async () => {
  const stop = new AbortController();
  const over = runAtQuarterLoad(stop.signal, async () => {
    const until = performance.now() + 50;
    while (performance.now() < until);
    stop.abort();
    return 'done';
  });
  assert.equal(await over, 'done');
});
