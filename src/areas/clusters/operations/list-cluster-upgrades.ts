import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { catalog } from '../engine/lifecycle.ts';
import { nodesIfAny } from '../engine/nodes.ts';
import type { OpenClusters } from '../open.ts';
import { upgradesFrom } from '../rules/catalog.ts';
import { nodesInTheWay } from '../rules/gates.ts';

export const listClusterUpgrades = operation(clusters.listClusterUpgrades, async ({ ctx, params }, { tenants }: OpenClusters) => {
  const cluster = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  const nodes = await nodesIfAny(tenants, cluster);
  const upgrades = upgradesFrom(catalog, cluster.version).map(({ version, state }) => ({
    version,
    state,
    blockedBy: nodesInTheWay(version, nodes).map(({ name, agentVersion }) => ({ node: name, agentVersion })),
  }));
  return ok({ current: cluster.version, upgrades });
});
