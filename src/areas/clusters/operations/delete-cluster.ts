import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { operation } from '../../../identity/operation.ts';
import { lockCluster } from '../engine/find-cluster.ts';
import { deleteCluster as remove } from '../engine/lifecycle.ts';

export const deleteCluster = operation(clusters.deleteCluster, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const cluster = await lockCluster(tx, ctx, params.name);
    await remove(tx, cluster);
    await audit(tx, ctx, 'clusters.cluster.delete', cluster, { name: cluster.name });
    return { status: 202 as const, body: undefined };
  }),
);
