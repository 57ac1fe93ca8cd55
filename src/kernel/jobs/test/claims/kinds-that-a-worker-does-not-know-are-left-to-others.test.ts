import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { enqueue, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('two releases share a queue: each runs only what it knows, and what the other cannot read is tried again', async (t) => {
  const { app, worker, advance, count, sql } = await workbench(t);
  const ran: string[] = [];
  const oldKind = (who: string) => job('old', {}, async ({ key }) => void ran.push(`${who} old ${key}`));
  const newKind = job('new', {}, async ({ key }) => void ran.push(`new-release new ${key}`));
  const before = job('changed', { payload: Type.Object({ a: Type.String() }) }, async () => void ran.push('old-release changed'));
  const after = job(
    'changed',
    { payload: Type.Object({ b: Type.String() }) },
    async ({ payload }) => void ran.push(`new-release changed ${payload.b}`),
  );

  const oldRelease = worker([oldKind('old-release'), before]);
  await app.db.write((tx) => enqueue(tx, newKind, { key: '1' }));
  await app.db.write((tx) => enqueue(tx, oldKind(''), { key: '1' }));
  await eventually('the old kind ran', () => ran.length === 1);
  await app.db.write((tx) => enqueue(tx, after, { key: '1', payload: { b: 'x' } }));
  await eventually(
    'the payload was not understood',
    async () => (await count(`kind = 'changed' and last_error like 'its payload is not what this release expects%'`)) === 1,
  );
  assert.deepEqual(ran, ['old-release old 1']);
  assert.deepEqual(await sql(`select attempts, lease, last_error from kernel.job where kind = 'new'`), [
    { attempts: 0, lease: null, last_error: null },
  ]);

  worker([oldKind('new-release'), newKind, after]);
  await eventually('the new kind ran', () => ran.includes('new-release new 1'));
  await oldRelease.stop();
  await advance(10);
  await eventually('and so did what the old release could not read', () => ran.includes('new-release changed x'));
  await eventually('nothing is left', async () => (await count()) === 0);
});
