import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import type { Db } from '../../../../kernel/db/index.ts';
import { registerMetrics } from '../../metrics.ts';
import { clusterFigures } from '../../store/usage.ts';

test('one scrape tells how many clusters nobody serves now; without the database the last number stays', async () => {
  const registry = new Registry();
  let unheld: number | undefined = 2;
  let reads = 0;
  const read = async (figures: unknown) => {
    if (figures !== clusterFigures || unheld === undefined) throw new Error('the database does not answer');
    reads++;
    return [{ phase: 'active', clusters: 5, unheld }];
  };
  registerMetrics(registry, { read } as unknown as Db, { shard: () => undefined, unreadBytes: () => 0, heldRequests: () => 0 });
  const unserved = async () => /^quarterdeck_clusters_unserved (\d+)$/m.exec(await registry.metrics())?.[1];
  assert.equal(await unserved(), '2');
  assert.equal(reads, 1);
  unheld = 0;
  assert.equal(await unserved(), '0');
  unheld = undefined;
  assert.equal(await unserved(), '0');
});
