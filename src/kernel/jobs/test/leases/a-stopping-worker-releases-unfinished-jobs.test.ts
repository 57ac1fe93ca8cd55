import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { enqueue, enqueueMany, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

test('a stopping worker ends what it can, and gives back the rest so that others run it at once', async (t) => {
  const { app, worker, count, sql } = await workbench(t);
  const ended: string[] = [];
  const brief = (who: string) =>
    job('brief', {}, async ({ key }) => {
      await sleep(100);
      ended.push(`${who} ${key}`);
    });
  const long = (who: string, ms: number) =>
    job('long', {}, async ({ attempt, signal }) => {
      await sleep(ms, undefined, { signal }).catch(() => signal.throwIfAborted());
      ended.push(`${who} long, attempt ${attempt}`);
    });
  const deafToSignals = (who: string, ms: number) =>
    job('deaf', {}, async () => void ended.push(await sleep(ms, `${who} deaf`, { ref: false })));

  const leaving = worker([brief('leaving'), long('leaving', 60_000), deafToSignals('leaving', 60_000)]);
  await app.db.write(async (tx) => {
    await enqueueMany(tx, brief(''), [{ key: '1' }, { key: '2' }]);
    await enqueue(tx, long('', 0), { key: 'l' });
    await enqueue(tx, deafToSignals('', 0), { key: 'd' });
  });
  await eventually('all four run', async () => (await count('lease is not null')) === 4);
  const began = performance.now();
  const stop = leaving.stop({ graceMs: 500 });
  await app.db.write((tx) => enqueue(tx, brief(''), { key: 'after' }));
  await stop;
  assert.ok(performance.now() - began < 3_000);
  assert.deepEqual(ended.toSorted(), ['leaving 1', 'leaving 2']);
  assert.deepEqual(await sql('select kind, key, attempts, lease from kernel.job order by kind'), [
    { kind: 'brief', key: 'after', attempts: 0, lease: null },
    { kind: 'deaf', key: 'd', attempts: 0, lease: null },
    { kind: 'long', key: 'l', attempts: 0, lease: null },
  ]);

  worker([brief('staying'), long('staying', 10), deafToSignals('staying', 10)]);
  await eventually('the other runs them at once', () => ended.length === 5, 1_000);
  assert.deepEqual(ended.slice(2).toSorted(), ['staying after', 'staying deaf', 'staying long, attempt 1']);
  await eventually('nothing is left', async () => (await count()) === 0);
});
