import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { findAgain, findCluster } from '../engine/find-cluster.ts';
import { deregisterNode } from '../engine/nodes.ts';
import type { OpenClusters } from '../open.ts';

export const deregisterClusterNode = operation(clusters.deregisterClusterNode, async ({ ctx, params }, { tenants }: OpenClusters) => {
  const cluster = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  const detail = { cluster: cluster.name, node: params.node };
  return deregisterNode({ tenants, log: ctx.app.log }, cluster, params.node, {
    drain: () =>
      ctx.write(async (tx) => {
        await findAgain(tx, ctx, cluster);
        await audit(tx, ctx, 'clusters.node.drain', cluster, detail);
      }),
    commit: (refuse) =>
      ctx.write(async (tx) => {
        await findAgain(tx, ctx, cluster);
        await refuse(tx);
        await audit(tx, ctx, 'clusters.node.deregister', cluster, detail);
        return noContent();
      }),
  });
});
