import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import * as store from '../store/clusters.ts';

/** The cluster of the acting organization, once the caller may do to it what the operation does: 404 before 403. */
export async function findCluster(tx: Tx, ctx: Ctx, name: string, find = store.clusterByName): Promise<store.ClusterRow> {
  const cluster = (await find(tx, ctx.org, name)) ?? notFound('cluster');
  ctx.require(cluster.id);
  return cluster;
}

/** The same for a cluster that was found before the transaction, whose rights may have changed since. */
export async function findAgain(tx: Tx, ctx: Ctx, { id, name }: Pick<store.ClusterRow, 'id' | 'name'>): Promise<void> {
  if ((await findCluster(tx, ctx, name)).id !== id) notFound('cluster');
}

/** The same, for whoever changes it. */
export const lockCluster = (tx: Tx, ctx: Ctx, name: string) => findCluster(tx, ctx, name, store.lockCluster);
