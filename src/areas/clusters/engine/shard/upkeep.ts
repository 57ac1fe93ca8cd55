import type { App } from '../../../../kernel/app.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { listNodes } from '../../clients/tenant/nodes.ts';
import { removeJoinTokens } from '../../clients/tenant/prepare.ts';
import type { HeldLease } from '../../store/shards.ts';
import { deleteJoinTokens, oldJoinTokens } from '../../store/tokens.ts';
import { meter } from '../../store/usage.ts';
import { retryAddons } from '../addons/ensure.ts';
import { markSilentNodes } from './node-heartbeats.ts';
import type { RunningCluster } from './run-cluster.ts';

const batchSize = 100;

/** Once a minute for each cluster: meters its usage and deletes used or expired join tokens. */
export async function runUpkeep(app: App, held: HeldLease, running: RunningCluster): Promise<void> {
  const nodes = await listNodes(running.plane.ask);
  running.hasNodes ||= nodes.length > 0;
  const { requests, errors, inflightPeak, objects, bytes, components } = running.plane.figures();
  // Reading the figures resets the peak, so it is kept here until the write succeeds.
  running.inflightPeak = Math.max(running.inflightPeak, inflightPeak);
  const balancers = running.balancer?.figures() ?? { services: 0, bytesIn: 0, bytesOut: 0 };
  const measured = {
    nodes: nodes.length,
    ready: nodes.filter(({ ready }) => ready).length,
    inflight: running.inflightPeak,
    objects,
    bytes,
    components,
    requests: Math.max(0, requests - running.metered.requests),
    errors: Math.max(0, errors - running.metered.errors),
    balancedServices: balancers.services,
    bytesIn: Math.max(0, balancers.bytesIn - running.metered.bytesIn),
    bytesOut: Math.max(0, balancers.bytesOut - running.metered.bytesOut),
  };
  const nodeStates = nodes
    .map(({ name, ready }) => `${name} ${ready}`)
    .sort()
    .join(' ');
  await app.db.write((tx) => {
    if (nodeStates !== running.nodeStates) hint(tx, running.row.org_id, 'clusters.node');
    return meter(tx, held, measured);
  });
  running.nodeStates = nodeStates;
  running.metered = { requests, errors, bytesIn: balancers.bytesIn, bytesOut: balancers.bytesOut };
  running.inflightPeak = 0;
  await sweepTokens(app, running);
  await retryAddons({ app, held, ...running, ask: running.plane.ask });
}

/** Every 10 s for a cluster with nodes. */
export async function checkHeartbeats(app: App, running: RunningCluster): Promise<void> {
  running.heartbeatsCheckedAt = performance.now();
  running.hasNodes = (await markSilentNodes(app, running.plane, running.heartbeats)) > 0;
}

/** Secrets are deleted before rows: a recorded token without a Secret does no harm. */
async function sweepTokens(app: App, { row, plane }: RunningCluster): Promise<void> {
  const old = await app.db.read((tx) => oldJoinTokens(tx, row.id, batchSize));
  if (old.length === 0) return;
  const ids = old.map(({ id }) => id);
  await removeJoinTokens(plane.ask, ids);
  await app.db.write((tx) => deleteJoinTokens(tx, row.id, ids));
}
