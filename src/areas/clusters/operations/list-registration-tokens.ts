import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { requireEndpoint } from '../engine/shard-availability.ts';
import { registrationsOf } from '../store/tokens.ts';
import { registrationView } from '../views/cluster.ts';

export const listRegistrationTokens = operation(clusters.listRegistrationTokens, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const cluster = await findCluster(tx, ctx, params.name);
    requireEndpoint(cluster);
    const tokens = await registrationsOf(tx, ctx.org, cluster.id);
    return ok({ tokens: tokens.map(registrationView) });
  }),
);
