import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../db/index.ts';
import { enqueue, job } from '../../index.ts';
import { workbench } from '../support.ts';

test('a transaction whose failed statement was caught does not pretend to have committed', async (t) => {
  const { app, count } = await workbench(t);
  const work = job('work', {}, async () => {});
  let told = false;
  const swallowing = app.db.write(async (tx) => {
    await enqueue(tx, work, { key: 'a' });
    tx.afterCommit(() => (told = true));
    await run(tx)`select 1 / 0`.catch(() => {});
    return 'fine';
  });
  await assert.rejects(swallowing, /rolled back/);
  assert.equal(told, false);
  assert.equal(await count(), 0);
});
