import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { nodesWithinShortTimeout } from '../engine/nodes.ts';
import { refuseUnreachable } from '../engine/tenant-clusters.ts';
import type { OpenClusters } from '../open.ts';
import { addonsOf } from '../store/addons.ts';
import { backupStateOf } from '../store/backups.ts';
import { countPools } from '../store/load-balancers.ts';
import { meshOf, peersOf } from '../store/mesh.ts';
import { meterOf, newestSample, samplesOf } from '../store/usage.ts';
import { usageView } from '../views/usage.ts';

export const getClusterUsage = operation(clusters.getClusterUsage, async ({ ctx, params }, own: OpenClusters) => {
  const seen = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  if (!own.isServed(seen)) refuseUnreachable(seen);
  const nodes = await nodesWithinShortTimeout(own.tenants, seen, ctx.app.log);
  // Read after the nodes: the reason why a cluster does not list them may be written meanwhile.
  return ctx.read(async (tx) => {
    const cluster = await findCluster(tx, ctx, params.name);
    const [meter, recent, newest, pools, mesh, peers, addons, backups] = await Promise.all([
      meterOf(tx, cluster.id),
      samplesOf(tx, cluster.id),
      newestSample(tx, cluster.id),
      countPools(tx),
      meshOf(tx, cluster.id),
      peersOf(tx, cluster.id),
      addonsOf(tx, cluster.id),
      backupStateOf(tx, cluster.id),
    ]);
    const state = mesh && { problem: mesh.problem, nodes: peers.filter(({ is_in }) => is_in).map(({ node }) => node) };
    const rows = { meter, recent, newest, hasAddresses: pools > 0, mesh: state, addons, backups };
    return ok(usageView(cluster, rows, cluster.id === seen.id ? nodes : undefined));
  });
});
