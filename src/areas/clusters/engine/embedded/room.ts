import { type Cluster, limits } from './cluster.ts';

// How much a cluster's store holds, and what is kept back of it: a store that is full must still be looked after.

/** How the refusal of a full store begins. */
export const fullWords = 'the cluster’s store is full';

export interface StoreQuota {
  objects: number;
  bytes: number;
  reserve: { objects: number; bytes: number };
}

export function quotaOf({ options }: Pick<Cluster, 'options'>): StoreQuota {
  const bytes = Math.min(limits.bytes, options.bytes?.() ?? limits.bytes);
  return { objects: limits.objects, bytes, reserve: { objects: Math.min(200, limits.objects / 20), bytes: bytes / 16 } };
}

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
/** From this part of what its users may fill on, it is called full: the next large object finds no room. */
const fullRatio = 0.97;

/** In a sentence, if it is full. */
export function describeFullStore(cluster: Pick<Cluster, 'options' | 'figures'>): string | undefined {
  const { objects, bytes, reserve } = quotaOf(cluster);
  const { figures } = cluster;
  if (figures.bytes > fullRatio * (bytes - reserve.bytes))
    return `${fullWords}: its objects take ${mebibytes(figures.bytes)}, and its tier has room for ${mebibytes(bytes - reserve.bytes)}; delete some, or choose a larger tier`;
  if (figures.objects > fullRatio * (objects - reserve.objects))
    return `${fullWords}: it holds ${figures.objects} objects, and there is room for ${objects - reserve.objects}; delete some`;
  return undefined;
}
