import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { collect } from '../../engine/gc/collect.ts';
import { registryServer } from '../registry-server.ts';

const CountRow = Type.Object({ waiting: Type.Integer() });

test('a large backlog of one organization delays another by at most one turn', async (t) => {
  const { app, engine } = await registryServer(t);
  const enqueue = (org: string, from: number, count: number, age: string) =>
    app.db.write(
      (tx) => run(tx)`
        insert into registry.gc_queue (org_id, kind, ref, review_after)
        select ${org}, 'blob', i::text, kernel.now() - ${age}::interval from generate_series(${from}::int, ${from + count - 1}::int) i`,
    );
  const waitingOf = async (org: string) =>
    (await app.db.read((tx) => row(tx, CountRow)`select count(*)::int as waiting from registry.gc_queue where org_id = ${org}`))!.waiting;
  await enqueue('org_a', 1_000, 500, '1 hour');
  await enqueue('org_b', 5_000, 3, '1 second');
  await enqueue('org_c', 6_000, 3, '-1 hour');
  await enqueue('', 7_000, 2, '2 hours');
  const { signal } = new AbortController();
  await collect(engine, signal, app.log, 10);
  assert.deepEqual([await waitingOf('org_b'), await waitingOf('')], [0, 0]);
  assert.equal(await waitingOf('org_a'), 495);
  await collect(engine, signal, app.log);
  assert.deepEqual([await waitingOf('org_a'), await waitingOf('org_c')], [0, 3], 'what is not due stays');
});
