import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { conflict } from '../../../kernel/errors.ts';
import { readCatalog } from '../engine/catalog.ts';
import { findCluster, lockCluster } from '../engine/find-cluster.ts';
import { passGates, planUpdate, updateCluster as update } from '../engine/lifecycle.ts';
import { nodesIfAny } from '../engine/nodes.ts';
import type { OpenClusters } from '../open.ts';
import { clusterView } from '../views/cluster.ts';

export const updateCluster = operation(clusters.updateCluster, async ({ ctx, params, body }, own: OpenClusters) => {
  // The cluster's API is called before the transaction, which would otherwise hold a database connection meanwhile.
  const [seen, catalog] = await ctx.read(
    async (tx) => [await findCluster(tx, ctx, params.name), await readCatalog(tx, own, ctx.org)] as const,
  );
  const { needsNodeCheck: asksNodes } = planUpdate(catalog, seen, body);
  const nodes = asksNodes ? await nodesIfAny(own.tenants, seen) : [];
  return ctx.write(async (tx) => {
    const cluster = await lockCluster(tx, ctx, params.name);
    const planned = planUpdate(catalog, cluster, body);
    if (cluster.id !== seen.id || cluster.generation !== seen.generation)
      conflict(`concurrent change: cluster ${cluster.name} was changed at the same moment; look at it and try again`);
    await passGates(tx, cluster, planned, nodes);
    const changed = await update(tx, cluster, planned);
    await audit(tx, ctx, 'clusters.cluster.update', cluster, { ...body, changes: planned.changes });
    return ok(clusterView(changed, own.isServed(changed)));
  });
});
