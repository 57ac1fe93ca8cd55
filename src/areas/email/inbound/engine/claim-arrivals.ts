import { randomUUID } from 'node:crypto';
import type { App } from '../../../../kernel/app.ts';
import { maxOrgsPerWalk } from '../../../../kernel/jobs/index.ts';
import type { InFlight } from '../../engine/in-flight.ts';
import { maxPerClaim } from '../../outbound/engine/queue/claim.ts';
import { leaseSeconds } from '../../outbound/engine/queue/lease.ts';
import * as store from '../store/arrivals.ts';
import type { LeasedArrival } from './in-flight.ts';

export interface ClaimCursor {
  /** The next claim begins after this organization. */
  afterOrg: string;
  /** Rows may wait for a free slot here, so a freed slot is worth a claim. */
  hasBacklog: boolean;
}

/** Leases waiting arrivals, organizations in turn. */
export async function claimArrivals(
  { app, node }: { app: App; node: string },
  inFlight: InFlight<LeasedArrival>,
  cursor: ClaimCursor,
): Promise<'full' | { found: LeasedArrival[]; mayBeMore: boolean }> {
  const { byOrg: running, maxPerOrg: perOrg } = inFlight;
  // The limit per organization depends on what the others hold, so one claim takes only part of the free slots.
  const limit = Math.min(inFlight.freeSlots, maxPerClaim);
  cursor.hasBacklog = true;
  if (limit === 0) return 'full';
  const found = await app.db.write(async (tx) => {
    const [, orgs] = await Promise.all([store.disableSeqScan(tx), store.findOrgs(tx, cursor.afterOrg)]);
    cursor.afterOrg = orgs.length < maxOrgsPerWalk ? '' : orgs.at(-1)!;
    const wanted = { orgs, running, perOrg, limit, lease: randomUUID(), leaseSeconds, held: [...inFlight.items.keys()], node };
    return orgs.length ? store.claimArrivals(tx, wanted) : [];
  });
  cursor.hasBacklog = found.length > 0 || cursor.afterOrg !== '' || [...running.values()].some((count) => count >= perOrg);
  return { found, mayBeMore: found.length === limit || cursor.afterOrg !== '' };
}

export async function renewLeases(app: App, inFlight: InFlight<LeasedArrival>): Promise<void> {
  const leased = [...inFlight.items.values()].map(({ id, lease }) => ({ id, lease, leaseSeconds }));
  if (leased.length === 0) return;
  await app.db
    .write((tx) => store.renewArrivals(tx, leased))
    .catch((err) => app.log.warn({ err }, 'leases of arrivals could not be renewed'));
}

/** Other processes may claim these arrivals at once. */
export async function releaseLeases(app: App, inFlight: readonly LeasedArrival[]): Promise<void> {
  if (inFlight.length > 0) await app.db.write((tx) => store.releaseArrivals(tx, inFlight, 0)).catch(() => {});
}
