import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../engine/cluster.ts';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

function withLimit(t: { after(act: () => void): void }, name: keyof typeof limits, value: number): void {
  const before = limits[name];
  limits[name] = value;
  t.after(() => {
    limits[name] = before;
  });
}

test('limits are checked before the work', async (t) => {
  const { call, cluster, tier, port, ca, admin, as } = await embedded(t);
  await call('POST', maps, configMap('a'));

  tier.inflight = 0;
  const busy = await call('GET', maps);
  assert.equal(busy.status, 429);
  assert.equal(busy.headers['retry-after'], '1');
  assert.equal(busy.body.reason, 'TooManyRequests');
  assert.equal((await as()('GET', '/healthz')).status, 429, 'before it is asked who asks');
  tier.inflight = 1;
  // A watch does not occupy a request slot.
  const watch = openWatch(port, ca, admin, `${maps}?watch=1`);
  await watch.until(1);
  assert.equal((await call('GET', maps)).status, 200);
  assert.equal(cluster.figures().inflightPeak, 1);
  tier.inflight = 400;

  withLimit(t, 'watches', 1);
  assert.equal((await call('GET', `${maps}?watch=1`)).status, 429);
  watch.close();
  await watch.ended;
  // Its place is free once the server has noticed the disconnect.
  const open = () => call('GET', `${maps}?watch=1&timeoutSeconds=1`);
  let again = await open();
  while (again.status === 429) again = await open();
  assert.equal(JSON.parse(again.text.split('\n')[0]!).type, 'ADDED');

  const { objects, bytes } = cluster.figures();
  // A twentieth of the objects and a sixteenth of the bytes are reserved for Quarterdeck itself.
  let most = objects;
  while (most - Math.ceil(most / 20) < objects) most++;
  withLimit(t, 'objects', most);
  const full = await call('POST', maps, configMap('b'));
  assert.equal(full.status, 403);
  assert.match(full.body.message, /objects, as many as it may; delete some first/);
  assert.equal((await call('DELETE', `${maps}/a`)).status, 200);
  assert.equal((await call('POST', maps, configMap('b'))).status, 201);
  limits.objects = 20_000;
  withLimit(t, 'bytes', Math.ceil(((bytes + 1_000) * 16) / 15));
  assert.equal((await call('POST', maps, configMap('c', { x: 'x'.repeat(2_000) }))).status, 403);
  assert.equal((await call('POST', maps, configMap('c', { x: 'x' }))).status, 201);
  limits.bytes = 268_435_456;
  withLimit(t, 'objectBytes', 2_000);
  assert.equal((await call('POST', maps, configMap('d', { x: 'x'.repeat(2_000) }))).status, 413);
  assert.equal(cluster.figures().objects, (await call('GET', '/api/v1/configmaps')).body.items.length + objects - 1);
});
