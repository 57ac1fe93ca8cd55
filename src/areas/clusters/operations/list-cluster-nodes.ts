import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { nodesOf } from '../engine/nodes.ts';
import type { OpenClusters } from '../open.ts';
import { nodeView } from '../views/cluster.ts';

export const listClusterNodes = operation(clusters.listClusterNodes, async ({ ctx, params }, { tenants }: OpenClusters) => {
  const cluster = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  const nodes = await nodesOf(tenants, cluster);
  return ok({ nodes: nodes.map(nodeView) });
});
