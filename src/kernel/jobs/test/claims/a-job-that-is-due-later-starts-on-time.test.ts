import assert from 'node:assert/strict';
import { test } from 'node:test';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a job that is due later starts on time, without a wake', async (t) => {
  const { app, worker } = await workbench(t);
  const late: number[] = [];
  const work = job('work', {}, async () => {});
  worker([work], { events: { started: ({ lateSeconds }) => late.push(lateSeconds) } });
  for (const delaySeconds of [1.2, 1.35, 1.5, 1.65, 1.8])
    await app.db.write((tx) => enqueue(tx, work, { key: `${delaySeconds}`, delaySeconds }));
  await eventually('all began', () => late.length === 5);
  assert.ok(
    late.every((seconds) => seconds >= 0),
    `one began before it was due: ${late}`,
  );
  // Polling once a second would be half a second late on average.
  assert.ok(late.toSorted((a, b) => a - b)[2]! < 0.2, `they began ${late} s late`);
});
