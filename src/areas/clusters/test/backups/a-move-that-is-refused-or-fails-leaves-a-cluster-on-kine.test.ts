import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { installFakes, misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { recordsIn, versions, withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { answers, clustersOf, namesIn, putMap } from './support.ts';

test('a move that is refused or fails leaves a dedicated cluster on kine with every object', async (t) => {
  const qd = await withPrograms(t);
  const { owner, app } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore: { mode: 'dedicated', storageGiB: 1 } });
  await readyCluster(owner, { name: 'plain', orchestratorVersion: 'v1.36.4' });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'before');
  for (let n = 0; n < 20; n++) await putMap(way, `m-${n}`);
  const names = await namesIn(way);

  assert.match((await admin('datastore', 'move', 'plain', '--yes')).err, /asked for a shared datastore/);
  assert.match((await admin('datastore', 'move', 'prod', '--yes')).err, /no server with the role shard has etcd/);
  await installFakes(qd.binaries, versions, { withEtcd: true });
  await eventually(async () => (await app.db.read((tx) => run(tx)`select 1 from clusters.shard where has_etcd`)) > 0);
  assert.match((await admin('datastore', 'move', 'prod')).err, /give --yes/);

  // An etcd that does not start: kine serves on, and what was written meanwhile is there.
  await misbehave(qd.binaries, { etcd: { crashAtStart: true } });
  const failing = admin('datastore', 'move', 'prod', '--yes');
  const written = putMap(way, 'meanwhile');
  const failed = await failing;
  await written;
  assert.deepEqual([failed.code, /the cluster goes on with its objects from before/.test(failed.err)], [11, true], failed.err);
  await misbehave(qd.binaries, {});
  await untilReady(owner, 'prod');
  await answers(way);
  assert.deepEqual(await namesIn(way), ['meanwhile', ...names].sort());
  const kinds = (await recordsIn(qd.dataDir)).map(({ kind }) => kind);
  assert.deepEqual([kinds.includes('etcd'), kinds.filter((kind) => kind === 'kube-controller-manager').length], [false, 2], 'as before');
  await qd.clock.advance('3m');
  const [store] = await readdir(join(qd.dataDir, 'clusters', 'stores'));
  await eventually(async () => (await readdir(join(qd.dataDir, 'clusters', 'stores', store!))).length === 0, { withinMs: 90_000 });
});
