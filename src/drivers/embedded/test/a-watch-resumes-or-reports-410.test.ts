import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('a watch resumes at its version, or reports 410 if the log was trimmed', async (t) => {
  const { call, port, ca, admin, deck, options, another } = await embedded(t);
  const open = (query: string, at = port) => openWatch(at, ca, admin, `${maps}?watch=1&${query}`);
  await call('POST', maps, configMap('a', {}, { team: 'x' }));
  const list = (await call('GET', maps)).body;
  const from = list.metadata.resourceVersion;
  const now = async () => (await call('GET', maps)).body.metadata.resourceVersion;
  assert.equal(list.items.length, 1);
  await call('POST', maps, configMap('b'));
  await call('DELETE', `${maps}/a`);

  const told = await open(`resourceVersion=${from}`).until(2);
  assert.deepEqual(
    told.map(({ type, object }) => [type, object.metadata.name]),
    [
      ['ADDED', 'b'],
      ['DELETED', 'a'],
    ],
  );
  assert.ok(Number(told[1]!.object.metadata.resourceVersion) > Number(told[0]!.object.metadata.resourceVersion));

  // Objects start and stop matching a selector.
  const seen = open(`labelSelector=team%3Dx&resourceVersion=${await now()}`);
  const merge = { 'content-type': 'application/merge-patch+json' };
  const label = (team: string | null, data: string) =>
    call('PATCH', `${maps}/b`, { metadata: { labels: { team } }, data: { v: data } }, merge);
  await label('x', '1');
  await label('x', '2');
  await label('y', '3');
  await label('y', '4');
  await label('x', '5');
  assert.deepEqual(
    (await seen.until(4)).map(({ type, object }) => [type, object.data?.v]),
    [
      ['ADDED', '1'],
      ['MODIFIED', '2'],
      ['DELETED', '3'],
      ['ADDED', '5'],
    ],
  );

  // Watches report changes of other servers, in both directions.
  const other = await another(await quarterdeck(t, { connection: deck.connection, dataDir: deck.dataDir }));
  const shared = `fieldSelector=metadata.name%3Dshared&resourceVersion=${await now()}`;
  const [here, there] = [open(shared), open(shared, other.port)];
  await other.as(admin)('POST', maps, configMap('shared'));
  await call('DELETE', `${maps}/shared`);
  for (const watch of [here, there])
    assert.deepEqual(
      (await watch.until(2)).map(({ type }) => type),
      ['ADDED', 'DELETED'],
    );

  // After a trim, a client with an older version must list again.
  await deck.app.db.write((tx) => run(tx)`update clusters.object_space set oldest = version where cluster_id = ${options.clusterId}`);
  const late = open(`resourceVersion=${from}`);
  const [error] = await late.until(1);
  assert.equal(error!.type, 'ERROR');
  assert.equal(error!.object.code, 410);
  assert.equal(error!.object.reason, 'Expired');
  await late.ended;
  const future = await call('GET', `${maps}?watch=1&resourceVersion=999999`);
  assert.equal(future.status, 504);
  assert.equal(future.body.details.causes[0].reason, 'ResourceVersionTooLarge');

  // A streaming list is refused as by a server without the feature, so clients list first.
  const streaming = await call('GET', `${maps}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`);
  assert.equal(streaming.status, 422);
  assert.equal(streaming.body.reason, 'Invalid');

  const brief = open('timeoutSeconds=1');
  await brief.ended;
});
