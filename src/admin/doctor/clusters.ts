import {
  backupProblems,
  balancerProblems,
  clusterFigures,
  meshProblems,
  sharingUsers,
  withoutCgroups,
} from '../../areas/clusters/index.ts';
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
  if (unheld > 0) found.push(warn('clusters', `${unheld} of ${all} are served by no server; run a server with the role shard`));
  for (const { phase, clusters } of figures)
    if (phase === 'failed' || phase === 'degraded')
      found.push(warn('clusters', `${clusters} are ${phase}; the log of the server that holds them says why, and so does their usage`));
  return found.length ? found : [ok('clusters', `all ${all} are served`)];
}

/** Nothing is wrong with it: the operator only has to know what a tier's memory means here. */
export const tellUnbounded = ({ why, servers }: { why: string; servers: number }): Finding =>
  ok(
    'clusters',
    `${servers} of the servers with the role shard run programs of clusters without cgroups, so that a tier’s memory is no wall: ${why}`,
  );

/** The same of whom they run as. */
export const tellSharing = ({ why, servers }: { why: string; servers: number }): Finding =>
  ok(
    'clusters',
    `${servers} of the servers with the role shard run the programs of all clusters as one user, so that a program that breaks out of one reaches the others: ${why}`,
  );

/** The same of a database that is the operator's: clusters have no roles of their own there. */
export const tellShared = (clusters: number): Finding =>
  ok('clusters', `the stores of ${clusters} clusters come to the database as the server’s own role; in the embedded one each has its own`);

/** A load balancer whose listener is not open. */
export const tellClosed = ({ cluster, service, problem }: { cluster: string; service: string; problem: string }): Finding =>
  warn('clusters', `the service ${service} of ${cluster} accepts no connections: ${problem}`);

/** A mesh without its interface. */
export const tellUnmeshed = ({ cluster, problem }: { cluster: string; problem: string }): Finding =>
  warn('clusters', `the mesh of ${cluster} is not there, so that nodes join without it: ${problem}`);

/** A backup that failed, that could not be restored for its check, or that waits for room to be checked. */
export const tellUnsaved = ({ cluster, problem }: { cluster: string; problem: string }): Finding =>
  warn('clusters', `cluster ${cluster}: ${problem}`);

export const checkClusters = async (db: Db, { isForeign, clusters }: { isForeign: boolean; clusters: number }): Promise<Finding[]> => [
  ...judgeClusters(await db.read(clusterFigures)),
  ...(await db.read(withoutCgroups)).map(tellUnbounded),
  ...(await db.read(sharingUsers)).map(tellSharing),
  ...(await db.read(balancerProblems)).map(tellClosed),
  ...(await db.read(meshProblems)).map(tellUnmeshed),
  ...(await db.read(backupProblems)).map(tellUnsaved),
  ...(isForeign && clusters > 0 ? [tellShared(clusters)] : []),
];
