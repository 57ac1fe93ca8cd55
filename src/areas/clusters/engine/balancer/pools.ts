import { networkInterfaces } from 'node:os';
import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, invalid, notFound } from '../../../../kernel/errors.ts';
import { wake } from '../../../../kernel/jobs/index.ts';
import { maxPools, refusePool } from '../../rules/address-pool.ts';
import * as store from '../../store/load-balancers.ts';
import { poolAdded } from '../channels.ts';

// The operator's addresses for load balancers.

/** Services of every cluster with load balancers may get these addresses from now on. */
export async function addPool(tx: Tx, network: string, { isLoopbackAllowed }: { isLoopbackAllowed: boolean }): Promise<void> {
  const own = Object.values(networkInterfaces()).flatMap((found) => (found ?? []).map(({ address }) => address));
  const why = refusePool(network, { own, isLoopbackAllowed });
  if (why) return invalid(why);
  const overlapping = await store.overlappingPools(tx, network);
  if (overlapping.length > 0)
    return conflict(`${network} overlaps ${overlapping.join(' and ')}, which the pool has; choose another network`);
  if ((await store.countPools(tx)) >= maxPools) return conflict(`the pool has ${maxPools} networks, as many as it may; remove one first`);
  await store.insertPool(tx, network);
  wake(tx, poolAdded);
}

/** Refused while a Service has an address of it. */
export async function removePool(tx: Tx, network: string): Promise<void> {
  const found = await store.deletePool(tx, network);
  if (!found) return notFound(`network ${network} in the pool`);
  if (found.taken > 0)
    return conflict(
      `${found.taken} Services have an address of ${network}; delete them, or switch their clusters’ load balancers off, and remove it then`,
    );
}

export const listAddressPools = store.listPools;
