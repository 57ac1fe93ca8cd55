import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { issueJoinToken } from '../engine/exchange.ts';
import { findAgain, findCluster } from '../engine/find-cluster.ts';
import type { OpenClusters } from '../open.ts';

export const createJoinToken = operation(clusters.createJoinToken, async ({ ctx, params }, { tenants }: OpenClusters) => {
  const cluster = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  const { joinToken, joinCommand, expiresIn } = await issueJoinToken(tenants, cluster, (record) =>
    ctx.write(async (tx) => {
      await findAgain(tx, ctx, cluster);
      const recorded = await record(tx);
      await audit(tx, ctx, 'clusters.token.join', cluster, { cluster: cluster.name, joinToken: recorded.token.id });
      // The body that an Idempotency-Key replays; it leaves out the secret.
      return { ...recorded, status: 201, body: { id: recorded.token.id } };
    }),
  );
  return created({ joinToken, cluster: cluster.name, joinCommand, expiresIn });
});
