import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { readCatalog } from '../engine/catalog.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { nodesIfAny } from '../engine/nodes.ts';
import type { OpenClusters } from '../open.ts';
import { upgradesFrom } from '../rules/catalog.ts';
import { blockingNodes } from '../rules/gates.ts';

export const listClusterUpgrades = operation(clusters.listClusterUpgrades, async ({ ctx, params }, own: OpenClusters) => {
  const [cluster, catalog] = await ctx.read(
    async (tx) => [await findCluster(tx, ctx, params.name), await readCatalog(tx, own, ctx.org)] as const,
  );
  const nodes = await nodesIfAny(own.tenants, cluster);
  const upgrades = upgradesFrom(catalog, cluster.version).map(({ version, state }) => ({
    version,
    state,
    blockedBy: blockingNodes(version, nodes).map(({ name, agentVersion }) => ({ node: name, agentVersion })),
  }));
  return ok({ current: cluster.version, upgrades });
});
