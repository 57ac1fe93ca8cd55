import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { refuseUnreachable } from '../engine/tenant-clusters.ts';
import type { OpenClusters } from '../open.ts';
import { clusterView } from '../views/cluster.ts';

export const getCluster = operation(clusters.getCluster, async ({ ctx, params }, own: OpenClusters) =>
  ctx.read(async (tx) => {
    const cluster = await findCluster(tx, ctx, params.name);
    if (!own.isServed(cluster)) refuseUnreachable(cluster);
    return ok(clusterView(cluster));
  }),
);
