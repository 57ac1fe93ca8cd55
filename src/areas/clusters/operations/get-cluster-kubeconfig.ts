import { clusters } from '../../../../contract/clusters.ts';
import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { grantAccess } from '../engine/access.ts';
import { findAgain, findCluster } from '../engine/find-cluster.ts';
import type { OpenClusters } from '../open.ts';
import { removeAccess } from '../tasks.ts';

/** Principals with an abort listener: one each, however often they fetch. */
const listenedSignals = new WeakSet<AbortSignal>();

/** Wakes the removal task when the token is revoked, instead of waiting for its next scheduled run. */
function wakeAtRevocation({ principal: { signal }, app }: Ctx): void {
  if (listenedSignals.has(signal)) return;
  listenedSignals.add(signal);
  signal.addEventListener('abort', () => app.waker.wake(removeAccess.name), { once: true });
}

export const getClusterKubeconfig = operation(clusters.getClusterKubeconfig, async ({ ctx, params }, { tenants }: OpenClusters) => {
  const cluster = await ctx.read((tx) => findCluster(tx, ctx, params.name));
  wakeAtRevocation(ctx);
  const granted = await grantAccess(tenants, cluster, { ...ctx.user, token: ctx.principal.id }, (note) =>
    ctx.write(async (tx) => {
      await findAgain(tx, ctx, cluster);
      await audit(tx, ctx, 'clusters.kubeconfig.create', cluster, { cluster: cluster.name });
      return note(tx);
    }),
  );
  return ok(granted);
});
