import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { requireShard } from '../engine/shard-availability.ts';
import type { OpenClusters } from '../open.ts';
import { clustersOf } from '../store/clusters.ts';
import { clusterView } from '../views/cluster.ts';

export const listClusters = operation(clusters.listClusters, async ({ ctx }, own: OpenClusters) =>
  ctx.read(async (tx) => {
    const found = await clustersOf(tx, ctx.org, ctx.visible);
    await requireShard(tx, own, found);
    return ok({ clusters: found.map((row) => clusterView(row, own.isServed(row))) });
  }),
);
