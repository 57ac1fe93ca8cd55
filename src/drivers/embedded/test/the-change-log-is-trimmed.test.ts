import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row } from '../../../kernel/db/index.ts';
import { limits } from '../engine/cluster.ts';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const Figures = Type.Object({
  n: Type.Integer(),
  bytes: Type.Integer(),
  log_bytes: Type.Integer(),
  oldest: Type.Integer(),
  version: Type.Integer(),
});

test('the change log is trimmed to its limits', async (t) => {
  const before = { ...limits };
  t.after(() => Object.assign(limits, before));
  const { call, deck, options, port, ca, admin } = await embedded(t);
  const measure = async () =>
    (await deck.app.db.read(
      (tx) => row(tx, Figures)`
        select count(*)::int as n, coalesce(sum(octet_length(c.body)), 0)::bigint as bytes, s.log_bytes, s.oldest, s.version
          from clusters.object_space s left join clusters.object_change c using (cluster_id)
         where s.cluster_id = ${options.clusterId} group by s.cluster_id`,
    ))!;
  const first = (await call('GET', maps)).body.metadata.resourceVersion;
  const write = async (count: number, text: string) => {
    for (let n = 0; n < count; n += 10)
      await Promise.all(
        Array.from({ length: 10 }, () => call('POST', maps, { ...configMap('', { text }), metadata: { generateName: 'm' } })),
      );
  };
  limits.keptChanges = 50;
  await write(200, '');
  const few = await measure();
  assert.ok(few.n >= 50 && few.n <= 150, `${few.n} changes`);
  assert.equal(few.bytes, few.log_bytes, 'their bytes are counted right');
  assert.equal(few.version - few.oldest, few.n);

  limits.keptChanges = 10_000;
  limits.keptChangeBytes = 20_000;
  await write(100, 'x'.repeat(1_000));
  const small = await measure();
  assert.ok(small.n < 120, `${small.n} changes`);
  assert.equal(small.bytes, small.log_bytes);

  const [error] = await openWatch(port, ca, admin, `${maps}?watch=1&resourceVersion=${first}`).until(1);
  assert.equal(error!.object.code, 410);
  const [kept] = await openWatch(port, ca, admin, `${maps}?watch=1&resourceVersion=${small.version - 1}`).until(1);
  assert.equal(kept!.type, 'ADDED');
});
