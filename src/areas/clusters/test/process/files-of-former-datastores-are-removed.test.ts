import assert from 'node:assert/strict';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { sweepOrphans } from '../../../../drivers/process/engine/orphans.ts';
import { run } from '../../../../kernel/db/index.ts';
import { leasesOf, releaseClusters } from '../../store/shards.ts';
import { readyCluster } from '../support.ts';
import { withPrograms } from './support.ts';

const leases = { find: leasesOf, release: releaseClusters };

test('files of a datastore that a change replaced or gave up are removed; those that no change tells of stay', async (t) => {
  const { owner, app, dataDir, clock } = await withPrograms(t, { withEtcd: true });
  await readyCluster(owner, { name: 'prod', datastore: { mode: 'dedicated', storageGiB: 1 } });
  const stores = join(dataDir, 'clusters', 'stores');
  const [id] = await readdir(stores);
  const left = async () => (await readdir(join(stores, id!))).sort();
  for (const name of ['etcd-2.making', 'etcd-3', 'etcd-5.making', 'etcd-6', 'etcd-9'])
    await mkdir(join(stores, id!, name, 'm1'), { recursive: true });
  const change = (generation: number, from: number, state: string) =>
    app.db.write(
      (tx) => run(tx)`
        insert into clusters.store_change (org_id, cluster_id, generation, from_generation, from_store, kind, state, begun_at, ended_at)
        select org_id, id, ${generation}, ${from}, 'etcd', 'restore', ${state}, kernel.now(), case when ${state} <> 'loading' then kernel.now() end
          from clusters.cluster where id = ${id}`,
    );
  await change(2, 1, 'failed');
  await change(4, 3, 'done');
  await change(5, 1, 'loading');
  await change(6, 1, 'failed');
  await writeFile(join(stores, id!, 'etcd-6', 'served'), '{}');
  const sweep = () => sweepOrphans(app, leases, () => true);
  await sweep();
  assert.deepEqual(
    await left(),
    ['etcd-1', 'etcd-2.making', 'etcd-3', 'etcd-5.making', 'etcd-6', 'etcd-9'],
    'requests may still end there',
  );
  await clock.advance('3m');
  await sweep();
  assert.deepEqual(
    await left(),
    ['etcd-1', 'etcd-5.making', 'etcd-6', 'etcd-9'],
    'one that was served is not lost by a database that was set back',
  );
});
