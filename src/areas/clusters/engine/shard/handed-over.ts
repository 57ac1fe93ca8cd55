import type { App } from '../../../../kernel/app.ts';
import type { Ending } from '../../../../kernel/lifecycle/ending.ts';
import type { HeldLease } from '../../store/shards.ts';

// A server that hands over to the next one of its data directory gives it the leases of its clusters: no other shard claims them meanwhile,
// and their programs run on. A lease that lapsed since is found lost at the first renewal.

const name = 'clusters.leases';

export const leaveLeases = (ending: Ending, leases: readonly HeldLease[]): void => ending.leave(name, leases);

/** The leases that the server before left. It may have been of another release. */
export function takeLeases({ handedOver }: Pick<App, 'handedOver'>): HeldLease[] {
  const left = handedOver.get(name);
  if (!Array.isArray(left)) return [];
  return left.flatMap((each: Partial<HeldLease> | null) =>
    typeof each?.id === 'string' && typeof each.lease === 'string' ? [{ id: each.id, lease: each.lease }] : [],
  );
}
