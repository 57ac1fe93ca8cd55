import { clusters } from '../../../../contract/clusters.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findCluster } from '../engine/find-cluster.ts';
import { minutesOf, monthsOf, phasesOf } from '../store/history.ts';
import { minuteView, monthView, phaseView } from '../views/history.ts';

const maxMonths = 36;

/** Asks no shard: what a cluster went through is told also while it is not served. */
export const getClusterHistory = operation(clusters.getClusterHistory, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const { id } = await findCluster(tx, ctx, params.name);
    const [phases, months, minutes] = await Promise.all([phasesOf(tx, id), monthsOf(tx, id, maxMonths), minutesOf(tx, id)]);
    return ok({ phases: phases.map(phaseView), months: months.map(monthView), minutes: minutes.map(minuteView) });
  }),
);
