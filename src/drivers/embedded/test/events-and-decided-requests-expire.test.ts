import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../engine/cluster.ts';
import { approve, clientUsages, csrs, kubelet, signingRequest } from './signing-requests.ts';
import { embedded, makeRequest, openWatch } from './support.ts';

const events = '/api/v1/namespaces/default/events';

test('events and decided signing requests expire after an hour', async (t) => {
  const { call, deck, another, ca, admin, port } = await embedded(t);
  const event = (name: string) =>
    call('POST', events, {
      metadata: { name },
      involvedObject: { kind: 'Node', name: 'a', namespace: 'default' },
      lastTimestamp: '2099-01-01T00:00:00Z', // set by the author, and ignored for expiry
    });
  const ask = (name: string) =>
    call('POST', csrs, signingRequest(name, makeRequest('system:node:a', ['system:nodes']).pem, kubelet, clientUsages));
  await event('old');
  await ask('pending');
  await ask('approved');
  await approve(call, 'approved');
  await deck.clock.advance('61m');
  await event('new');
  const watch = openWatch(port, ca, admin, `${csrs}?watch=1`);
  await watch.until(2);
  // A server that opens the cluster sweeps at once.
  await another();
  await watch.until(3);
  assert.deepEqual([watch.events[2]!.type, watch.events[2]!.object.metadata.name], ['DELETED', 'approved']);
  const names = (body: { items: { metadata: { name: string } }[] }) => body.items.map(({ metadata }) => metadata.name);
  assert.deepEqual(names((await call('GET', events)).body), ['new']);
  assert.deepEqual(names((await call('GET', csrs)).body), ['pending']);

  // Past the limit the oldest events are deleted.
  limits.events = 3;
  t.after(() => {
    limits.events = 2_000;
  });
  for (const name of ['a', 'b', 'c', 'd']) assert.equal((await event(name)).status, 201);
  const left = names((await call('GET', events)).body);
  assert.ok(left.length <= 3 && left.includes('d') && !left.includes('new'), left.join());
});
