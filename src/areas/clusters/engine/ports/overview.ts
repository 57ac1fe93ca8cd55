import type { Down, Ending, Step } from '../../../../../contract/overview.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { countAll, endingDays, fullness, maxListed, type OverviewPart, type OverviewSource, type Reader } from '../../../ports.ts';
import { type ClusterRow, clustersOf } from '../../store/clusters.ts';
import * as store from '../../store/ports/overview.ts';

interface Own {
  isServed(cluster: ClusterRow): boolean;
}

export const clustersOverview: OverviewSource<Own> = {
  async read(tx, reader, own) {
    const [down, ends, quota] = await Promise.all([readDown(tx, reader, own), readEnding(tx, reader), readQuota(tx, reader)]);
    return { ...(down ? { down } : {}), ...(ends ? { ends } : {}), ...quota };
  },
};

async function readDown(tx: Tx, { org, reach }: Reader, own: Own): Promise<OverviewPart['down']> {
  const visible = reach('clusters.cluster.read');
  if (visible === undefined) return undefined;
  const all = await clustersOf(tx, org, visible);
  return countAll(all.map((cluster) => downOf(cluster, own.isServed(cluster))).filter((down) => down !== undefined));
}

function downOf({ name, phase, phase_at, reason }: ClusterRow, isServed: boolean): Down | undefined {
  const of = { kind: 'cluster', id: name, name } as const;
  if (phase === 'degraded' || phase === 'failed') return { ...of, state: phase, since: phase_at, ...(reason === null ? {} : { reason }) };
  return isServed ? undefined : { ...of, state: 'degraded', reason: 'no shard holds it; another takes it over within seconds' };
}

async function readEnding(tx: Tx, { org, reach }: Reader): Promise<OverviewPart['ends']> {
  const visible = reach('clusters.token.read');
  if (visible === undefined) return undefined;
  const found = await store.registrationsEnding(tx, org, visible, endingDays, maxListed);
  return {
    items: found.map(
      ({ id, name, cluster, ends_at }): Ending => ({ kind: 'registrationToken', id, name, endsAt: ends_at, parents: [cluster] }),
    ),
    total: found[0]?.total ?? 0,
  };
}

/** How many clusters there are is for callers who may read all of them. */
async function readQuota(tx: Tx, { app, org, reach }: Reader): Promise<{ full?: NonNullable<OverviewPart['full']>; firstSteps: Step[] }> {
  const quota = app.config.cluster_quota;
  const [mayRead, mayCreate] = [reach('clusters.cluster.read') === '*', reach('clusters.cluster.write') === '*' && quota > 0];
  if (!mayRead && !mayCreate) return { firstSteps: [] };
  const count = await store.clusterCount(tx, org);
  const full = fullness({ kind: 'clusters', name: 'Clusters', unit: 'clusters' }, count, quota);
  return { ...(mayRead ? { full: countAll(full) } : {}), firstSteps: mayCreate ? [{ step: 'cluster', done: count > 0 }] : [] };
}
