import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { isEtcdInstalled, readCatalog } from '../engine/catalog.ts';
import * as lifecycle from '../engine/lifecycle.ts';
import type { OpenClusters } from '../open.ts';
import { clusterView } from '../views/cluster.ts';

export const createCluster = operation(clusters.createCluster, async ({ ctx, body }, own: OpenClusters) =>
  ctx.write(async (tx) => {
    const catalog = await readCatalog(tx, own, ctx.org);
    const canRunEtcd = (version: string) => isEtcdInstalled(tx, own, version);
    const made = await lifecycle.createCluster(tx, ctx.org, { catalog, quota: ctx.app.config.cluster_quota, canRunEtcd }, body);
    await audit(tx, ctx, 'clusters.cluster.create', made, { ...body });
    return created(clusterView(made), `/clusters/${made.name}`);
  }),
);
