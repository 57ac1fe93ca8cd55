import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { lockCluster } from '../engine/find-cluster.ts';
import { revokeRegistration } from '../engine/join.ts';
import { requireEndpoint } from '../engine/shard-availability.ts';

export const revokeRegistrationToken = operation(clusters.revokeRegistrationToken, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const cluster = await lockCluster(tx, ctx, params.name);
    requireEndpoint(cluster);
    const token = await revokeRegistration(tx, ctx.app.caches, cluster, params.id);
    await audit(tx, ctx, 'clusters.token.revoke', token, { cluster: cluster.name, name: token.name });
    return noContent();
  }),
);
