import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows } from '../../../kernel/db/index.ts';
import { configMap, embedded, openWatch } from './support.ts';

const namespace = '/api/v1/namespaces/default';
const plain = 'hunter2-do-not-tell';
const encoded = Buffer.from(plain).toString('base64');

test('no row holds a secret in the clear, and authorized users read it unchanged', async (t) => {
  const { call, deck, options, port, ca, admin } = await embedded(t);
  const applied = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ data: { password: encoded } }) };
  const secret = (name: string, more: object) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, annotations: applied, labels: { a: 'b' } },
    ...more,
  });
  const from = (await call('GET', `${namespace}/secrets`)).body.metadata.resourceVersion;
  const watch = openWatch(port, ca, admin, `${namespace}/secrets?watch=1&labelSelector=a%3Db&resourceVersion=${from}`);
  t.after(() => watch.close());
  assert.equal((await call('POST', `${namespace}/secrets`, secret('one', { data: { password: encoded } }))).status, 201);
  assert.equal((await call('POST', `${namespace}/secrets`, secret('two', { stringData: { password: plain } }))).status, 201);
  const patch = { 'content-type': 'application/merge-patch+json' };
  assert.equal((await call('PATCH', `${namespace}/secrets/one`, { stringData: { again: plain } }, patch)).status, 200);
  assert.equal((await call('DELETE', `${namespace}/secrets/two`)).status, 200);
  await call('POST', `${namespace}/configmaps`, configMap('open', { told: 'everybody' }));

  const Row = Type.Object({ text: Type.String(), sealed: Type.Boolean() });
  const kept = await deck.app.db.read(
    (tx) => rows(tx, Row)`
    select to_jsonb(o)::text as text, o.sealed is not null as sealed from clusters.object o where cluster_id = ${options.clusterId}
    union all select to_jsonb(c)::text, c.sealed is not null from clusters.object_change c where cluster_id = ${options.clusterId}`,
  );
  assert.equal(kept.filter(({ sealed }) => sealed).length, 1 + 4, 'one object and four changes');
  for (const told of [plain, encoded, Buffer.from(plain).toString('hex'), Buffer.from(encoded).toString('hex')])
    assert.ok(!kept.some(({ text }) => text.includes(told)), 'the secret stands in no row');
  assert.ok(kept.some(({ text }) => text.includes('everybody')));

  const read = await call('GET', `${namespace}/secrets/one`);
  assert.deepEqual(read.body.data, { password: encoded, again: encoded });
  assert.deepEqual((await call('GET', '/api/v1/secrets?labelSelector=a%3Db')).body.items, [read.body]);
  assert.deepEqual((await call('GET', '/api/v1/secrets?fieldSelector=type%3DOpaque')).body.items, [read.body]);
  const events = await watch.until(4);
  assert.deepEqual(
    events.map(({ type, object }) => `${type} ${object.metadata.name} ${object.data.password}`),
    [`ADDED one ${encoded}`, `ADDED two ${encoded}`, `MODIFIED one ${encoded}`, `DELETED two ${encoded}`],
  );
});

test('a sealed secret opens only in its own row', async (t) => {
  const { call, deck, options } = await embedded(t);
  for (const name of ['one', 'two'])
    await call('POST', `${namespace}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData: { is: name } });
  await deck.app.db.write(
    (tx) => rows(tx, Type.Object({ name: Type.String() }))`
    update clusters.object set sealed = (select sealed from clusters.object where cluster_id = ${options.clusterId} and resource = 'secrets' and name = 'two')
     where cluster_id = ${options.clusterId} and resource = 'secrets' and name = 'one' returning name`,
  );
  assert.equal((await call('GET', `${namespace}/secrets/one`)).status, 500);
  assert.equal((await call('GET', `${namespace}/secrets/two`)).status, 200);
});
