import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows } from '../../src/kernel/db/index.ts';
import { quarterdeck } from '../harness/index.ts';
import { allTasks, freshDatabase } from '../harness/postgres.ts';
import { eventually } from '../harness/process.ts';

const TaskRow = Type.Object({ name: Type.String(), last_error: Type.Union([Type.String(), Type.Null()]) });

test('a first start gives every task its turn, and each goes well where there is nothing to do yet', async (t) => {
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  const { app } = await quarterdeck(t, { connection });
  const ended = () =>
    app.db.read((tx) => rows(tx, TaskRow)`select name, last_error from kernel.task where last_ok is not null or failures > 0`);
  await eventually(async () => (await ended()).length === allTasks.length);
  assert.deepEqual(
    await ended().then((all) => all.map(({ name, last_error }) => [name, last_error]).sort()),
    allTasks.map(({ name }) => [name, null]).sort(),
  );
});
