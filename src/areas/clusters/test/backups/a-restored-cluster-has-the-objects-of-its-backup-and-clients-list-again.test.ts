import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { schemasOf, withPrograms } from '../process/support.ts';
import { adminOf, kube, readyCluster, untilReady } from '../support.ts';
import { clustersOf, firstEvent, maps, namesIn, putMap, take } from './support.ts';

test('a cluster is given the objects of a backup again, and a client that watched from before is told to list', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  assert.match((await admin('backups', 'list', 'prod')).out, /has no backup yet/);
  assert.match((await admin('restore', 'prod', '--yes')).err, /has no backup yet/);

  const kept = await putMap(way, 'kept');
  const first = await take(admin);
  await putMap(way, 'later');
  await kube(way, 'DELETE', `${maps}/kept`);
  assert.deepEqual(await namesIn(way), ['later']);
  const { resourceVersion: before } = (await kube(way, 'GET', maps)).body.metadata;
  const second = await take(admin);
  const listed = JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups;
  assert.deepEqual(
    listed.map(({ backup }: { backup: string }) => backup),
    [second, first],
  );

  const asked = await admin('restore', 'prod', '--at', first);
  assert.equal(asked.code, 11);
  assert.match(asked.err, /give --yes/);
  const restored = await admin('restore', 'prod', '--at', first, '--yes');
  assert.equal(restored.code, 0, restored.err);
  await untilReady(owner, 'prod');
  assert.deepEqual((await kube(way, 'GET', `${maps}/kept`)).body, kept, 'with the version that it had');
  assert.deepEqual(await namesIn(way), ['kept']);
  assert.equal((await firstEvent(way, `${maps}?watch=1&resourceVersion=${before}`)).object.code, 410);
  const { resourceVersion: now } = (await kube(way, 'GET', maps)).body.metadata;
  const next = firstEvent(way, `${maps}?watch=1&resourceVersion=${now}`);
  const made = await putMap(way, 'new');
  assert.equal((await next).object.metadata.name, 'new', 'a watch from after the restore goes on');
  assert.ok(Number(made.metadata.resourceVersion) > Number(before) + 1e9, `${made.metadata.resourceVersion} is far beyond ${before}`);
  // The store before goes, and nothing else of the restore stays.
  await qd.clock.advance('3m');
  await eventually(async () => (await schemasOf(app)).join().match(/^cluster_[0-9a-z]+_g2$/) !== null, { withinMs: 90_000 });
  const again = await admin('restore', 'prod', '--at', second, '--yes');
  assert.equal(again.code, 0, again.err);
  assert.deepEqual(await namesIn(way), ['later']);
  const audited = (await owner.get('/organization/audit')).body;
  assert.match(JSON.stringify(audited), /clusters\.cluster\.restore/);
});
