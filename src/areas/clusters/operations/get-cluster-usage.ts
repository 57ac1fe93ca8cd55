import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { nodesIfAny } from '../engine/nodes.ts';
import { refuseAway } from '../engine/tenants.ts';
import type { OpenClusters } from '../open.ts';
import { meterOf, samplesOf } from '../store/usage.ts';
import { usageView } from '../views/usage.ts';

export const getClusterUsage = operation(clusters.getClusterUsage, async ({ ctx, params }, own: OpenClusters) => {
  const { cluster, meter, samples } = await ctx.read(async (tx) => {
    const found = await findCluster(tx, ctx, params.name);
    const [measured, looks] = await Promise.all([meterOf(tx, found.id), samplesOf(tx, found.id)]);
    return { cluster: found, meter: measured, samples: looks };
  });
  if (!own.isThere(cluster)) refuseAway(cluster);
  return ok(usageView(cluster, meter, samples, await nodesIfAny(own.tenants, cluster)));
});
