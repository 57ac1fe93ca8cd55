import { type Cluster, limits } from './cluster.ts';

// The quota of a cluster's store, and its reserve: a full store must stay administrable.

/** The prefix of every refusal by a full store. */
export const storeFullPrefix = 'the cluster’s store is full';

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
/** Above this ratio of the users' quota the store counts as full: the next large object would not fit. */
const fullRatio = 0.97;

/** A sentence for the operator, if the store is full. */
export function describeFullStore(cluster: Pick<Cluster, 'options' | 'figures'>): string | undefined {
  const { objects, bytes, reserve } = quotaOf(cluster);
  const { figures } = cluster;
  if (figures.bytes > fullRatio * (bytes - reserve.bytes))
    return `${storeFullPrefix}: its objects take ${mebibytes(figures.bytes)}, and its tier has room for ${mebibytes(bytes - reserve.bytes)}; delete some, or choose a larger tier`;
  if (figures.objects > fullRatio * (objects - reserve.objects))
    return `${storeFullPrefix}: it holds ${figures.objects} objects, and there is room for ${objects - reserve.objects}; delete some`;
  return undefined;
}
