import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { lockCluster } from '../engine/find-cluster.ts';
import { setRegistrationDisabled } from '../engine/join.ts';
import { requireEndpoint } from '../engine/shard-availability.ts';

export const updateRegistrationToken = operation(clusters.updateRegistrationToken, async ({ ctx, params, body: { disabled } }) =>
  ctx.write(async (tx) => {
    const cluster = await lockCluster(tx, ctx, params.name);
    requireEndpoint(cluster);
    const token = await setRegistrationDisabled(tx, ctx.app.caches, cluster, params.id, disabled);
    await audit(tx, ctx, 'clusters.token.update', token, { cluster: cluster.name, name: token.name, disabled });
    return noContent();
  }),
);
