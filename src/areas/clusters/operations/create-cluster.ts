import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import * as lifecycle from '../engine/lifecycle.ts';
import { clusterView } from '../views/cluster.ts';

export const createCluster = operation(clusters.createCluster, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const made = await lifecycle.createCluster(tx, ctx.org, ctx.app.config.cluster_quota, body);
    await audit(tx, ctx, 'clusters.cluster.create', made, { ...body });
    return created(clusterView(made), `/clusters/${made.name}`);
  }),
);
