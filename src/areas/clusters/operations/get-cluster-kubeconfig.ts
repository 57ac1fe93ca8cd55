import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { grantAccess } from '../engine/access.ts';
import { findAgain, findCluster } from '../engine/find-cluster.ts';
import type { OpenClusters } from '../open.ts';

export const getClusterKubeconfig = operation(clusters.getClusterKubeconfig, async ({ ctx, params }, { tenants }: OpenClusters) => {
  const cluster = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  const granted = await grantAccess(tenants, cluster, ctx.user, (note) =>
    ctx.write(async (tx) => {
      await findAgain(tx, ctx, cluster);
      await audit(tx, ctx, 'clusters.kubeconfig.create', cluster, { cluster: cluster.name });
      return note(tx);
    }),
  );
  return ok(granted);
});
