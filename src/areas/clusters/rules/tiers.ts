/** Limits of a tier. `datastoreBytes`: the total size of its objects. */
export interface Tier {
  nodes: number;
  inflight: number;
  datastoreBytes: number;
  connections: number;
  maxServices: number;
}

const mebibyte = 2 ** 20;

export const tiers = {
  small: { nodes: 10, inflight: 200, datastoreBytes: 64 * mebibyte, connections: 500, maxServices: 2 },
  medium: { nodes: 100, inflight: 800, datastoreBytes: 128 * mebibyte, connections: 2_000, maxServices: 5 },
  large: { nodes: 1_000, inflight: 3_000, datastoreBytes: 256 * mebibyte, connections: 10_000, maxServices: 20 },
} as const satisfies Record<string, Tier>;

export type TierName = keyof typeof tiers;

export const isTier = (name: string): name is TierName => Object.hasOwn(tiers, name);

export const tierOf = (name: string): Tier => (isTier(name) ? tiers[name] : tiers.small);

/** Whether any of a tier's limits is below the other's. */
export const isSmaller = (to: Tier, from: Tier): boolean => (Object.keys(to) as (keyof Tier)[]).some((key) => to[key] < from[key]);
