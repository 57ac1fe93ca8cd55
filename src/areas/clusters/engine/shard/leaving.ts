import { setTimeout as sleep } from 'node:timers/promises';
import { wake } from '../../../../kernel/jobs/index.ts';
import { finishLeaving, handoverProgress, offerLeases } from '../../store/handover.ts';
import * as store from '../../store/shards.ts';
import { clustersDue } from '../channels.ts';
import { silentSeconds } from './presence.ts';
import { leaveCluster } from './run-cluster.ts';
import { dropCluster, type HeldCluster, leaseSeconds, type Shard } from './state.ts';

// The holder's side of a handover: it offers, serves until the heir has taken the lease, and lets connections end.

/** A stopping server waits this long for others to take its clusters over, as long as one prepares; and this long for one that begins to. */
const passOnMs = 60_000;
const passOnUnansweredMs = 3_000;

/** Under which lease this server held the cluster when the row was read. */
export type Mark = store.WorkStateRow & { heldLease: string };

export async function readMarks({ app, held, installed }: Shard): Promise<Map<string, Mark>> {
  const leaseOf = new Map([...held.values()].map(({ id, lease }) => [id, lease]));
  const marks = await app.db.read((tx) =>
    store.workStatesOf(tx, [...leaseOf.keys()], { versions: installed.versions, seconds: leaseSeconds }),
  );
  return new Map(marks.map((mark) => [mark.id, { ...mark, heldLease: leaseOf.get(mark.id)! }]));
}

/** For leases that other servers have: by a handover, or because this one was taken for gone. */
export function giveUpLost(shard: Shard, markOf: ReadonlyMap<string, Mark>): void {
  for (const held of [...shard.held.values()]) {
    const mark = markOf.get(held.id);
    if (!mark || mark.heldLease !== held.lease || mark.lease === held.lease) continue;
    const work = mark.left_lease === held.lease ? leave(shard, held) : dropCluster(shard, held);
    work.catch((error) => shard.app.log.warn({ err: error, cluster: held.id }, 'a cluster of another server could not be left cleanly'));
  }
}

/** The server that took the cluster over serves it. Connections end here one after the other. */
export async function leave(shard: Shard, held: HeldCluster): Promise<void> {
  if (shard.held.get(held.id) !== held) return;
  shard.held.delete(held.id);
  const { running, id } = held;
  held.running = undefined;
  const { app } = shard;
  const finish = () =>
    app.db.write((tx) => {
      wake(tx, clustersDue);
      return finishLeaving(tx, held);
    });
  if (!running) {
    shard.refused.forget(id);
    await finish();
    return;
  }
  app.log.info({ cluster: id }, 'another server took this cluster over; its connections end here');
  const work = leaveCluster(shard, running, () => finish().catch(() => {})) // the other server waits some seconds
    .catch((error) => app.log.warn({ err: error, cluster: id }, 'a cluster that was handed over could not be closed cleanly'))
    .finally(() => {
      shard.left.delete(id);
      if (!shard.held.has(id)) shard.refused.forget(id);
    });
  shard.left.set(id, { running, work });
  await work;
}

/** Offers all clusters to other servers, and serves each until it is taken over. */
export async function passOn(shard: Shard): Promise<void> {
  const { app, held } = shard;
  shard.isLeaving = true;
  await shard.succession.stop();
  await shard.presence.beat();
  const leases = () => [...new Set([...held.values()].map(({ lease }) => lease))];
  const offered = await app.db.write(async (tx) => {
    wake(tx, clustersDue);
    return offerLeases(tx, { leases: leases(), shard: shard.id, seconds: silentSeconds });
  });
  if (offered.length > 0) app.log.info({ clusters: offered.length }, 'other servers take the clusters over before this one stops');
  const began = performance.now();
  let answeredAt = began;
  while (offered.some((id) => held.has(id))) {
    const now = performance.now();
    const { offered: open, taken } = await app.db.read((tx) => handoverProgress(tx, leases()));
    if (taken > 0 || open === 0) answeredAt = now;
    if (now - began > passOnMs || now - answeredAt > passOnUnansweredMs) break;
    await sleep(100);
  }
  await Promise.all([...shard.left.values()].map(({ work }) => work));
}
