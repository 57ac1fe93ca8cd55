import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('objects are created, updated, watched and deleted', async (t) => {
  const { call, cluster, port, ca, admin } = await embedded(t);

  const from = (await call('GET', maps)).body.metadata.resourceVersion;
  const watch = openWatch(port, ca, admin, `${maps}?watch=1&resourceVersion=${from}`);
  const made = await call('POST', maps, configMap('one', { a: '1' }));
  assert.equal(made.status, 201, made.text);
  assert.match(made.body.metadata.uid, /^[0-9a-f-]{36}$/);
  assert.equal((await call('POST', maps, configMap('one'))).body.reason, 'AlreadyExists');

  const stale = made.body.metadata.resourceVersion;
  const changed = await call('PUT', `${maps}/one`, { ...made.body, data: { a: '2' } });
  assert.equal(changed.status, 200, changed.text);
  const refused = await call('PUT', `${maps}/one`, {
    ...made.body,
    metadata: { ...made.body.metadata, resourceVersion: stale },
    data: { a: '3' },
  });
  assert.equal(refused.status, 409);
  assert.equal(
    refused.body.message,
    'Operation cannot be fulfilled on configmaps "one": the object has been modified; please apply your changes to the latest version and try again',
  );

  // An update without a change keeps the version.
  const same = await call('PUT', `${maps}/one`, changed.body);
  assert.equal(same.body.metadata.resourceVersion, changed.body.metadata.resourceVersion);

  const asked = await cluster.ask('GET', `${maps}/one`);
  assert.deepEqual(asked.body.data, { a: '2' });

  const gone = await call('DELETE', `${maps}/one`);
  assert.equal(gone.body.status, 'Success', gone.text);
  assert.equal((await call('GET', `${maps}/one`)).status, 404);

  const events = await watch.until(3);
  assert.deepEqual(
    events.map(({ type, object }) => [type, object.data?.a]),
    [
      ['ADDED', '1'],
      ['MODIFIED', '2'],
      ['DELETED', '2'],
    ],
  );
});
