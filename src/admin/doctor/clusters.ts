import { clusterFigures } from '../../areas/clusters/index.ts';
import type { Db } from '../../kernel/db/index.ts';
import { type Finding, ok, warn } from './finding.ts';

export interface ClusterFigure {
  phase: string;
  clusters: number;
  unheld: number;
}

export function judgeClusters(figures: readonly ClusterFigure[]): Finding[] {
  const sum = (count: (figure: ClusterFigure) => number) => figures.reduce((total, figure) => total + count(figure), 0);
  const all = sum(({ clusters }) => clusters);
  if (all === 0) return [ok('clusters', 'there are none')];
  const found: Finding[] = [];
  const unheld = sum((figure) => figure.unheld);
  if (unheld > 0) found.push(warn('clusters', `${unheld} of ${all} are served by nobody; run a server with the role shard`));
  for (const { phase, clusters } of figures)
    if (phase === 'failed' || phase === 'degraded')
      found.push(warn('clusters', `${clusters} are ${phase}; the log of the server that holds them says why, and so does their usage`));
  return found.length ? found : [ok('clusters', `all ${all} are served`)];
}

export const checkClusters = async (db: Db): Promise<Finding[]> => judgeClusters(await db.read(clusterFigures));
