import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import * as store from '../store/clusters.ts';

/** The cluster of the caller's organization, after the permission check: 404 before 403. */
export async function findCluster(tx: Tx, ctx: Ctx, name: string, find = store.clusterByName): Promise<store.ClusterRow> {
  const cluster = (await find(tx, ctx.org, name)) ?? notFound('cluster');
  ctx.require(cluster.id);
  return cluster;
}

/** Checks again inside a transaction: the caller's rights may have changed since the first look-up. */
export async function findAgain(tx: Tx, ctx: Ctx, { id, name }: Pick<store.ClusterRow, 'id' | 'name'>): Promise<void> {
  if ((await findCluster(tx, ctx, name)).id !== id) notFound('cluster');
}

/** The same with a row lock, for changes. */
export const lockCluster = (tx: Tx, ctx: Ctx, name: string) => findCluster(tx, ctx, name, store.lockCluster);
