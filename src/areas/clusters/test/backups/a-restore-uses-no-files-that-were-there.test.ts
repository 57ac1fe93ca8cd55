import assert from 'node:assert/strict';
import { cp, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { withPrograms } from '../process/support.ts';
import { adminOf, readyCluster, untilReady } from '../support.ts';
import { answers, clustersOf, namesIn, putMap, take } from './support.ts';

test('files of a generation that the database does not know are set aside by the restore that makes it, and never served', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true });
  const { owner, dataDir } = qd;
  await readyCluster(owner, { name: 'prod', orchestratorVersion: 'v1.36.4', datastore: { mode: 'dedicated', storageGiB: 1 } });
  const way = await adminOf(owner, 'prod');
  await putMap(way, 'before');
  // As of a restore that an older database, which was put back since, knows nothing of.
  const stores = join(dataDir, 'clusters', 'stores');
  const [id] = await readdir(stores);
  await cp(join(stores, id!, 'etcd-1'), join(stores, id!, 'etcd-2'), { recursive: true });
  await putMap(way, 'kept');
  const admin = clustersOf(qd);
  const good = await take(admin);
  // The stand-in of etcdutl makes nothing of a backup: the cluster goes on as it was.
  const restored = await admin('restore', 'prod', '--at', good, '--yes');
  assert.deepEqual([restored.code, /the cluster goes on with its objects from before/.test(restored.err)], [11, true], restored.err);
  const [, aside] = (await readdir(join(stores, id!))).sort();
  assert.match(aside!, /^etcd-2\.found-/);
  await untilReady(owner, 'prod');
  await answers(way);
  assert.deepEqual(await namesIn(way), ['before', 'kept']);
});
