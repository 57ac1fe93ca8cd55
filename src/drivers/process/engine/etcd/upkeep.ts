import { isCompacted } from '../../clients/etcd.ts';
import { isFull, needsDefragmentation } from '../../rules/etcd/limits.ts';
import type { StoreSize } from '../../store/kine.ts';
import type { ProcessPlane } from '../state.ts';
import { closeFullStore, openStore } from './full-store.ts';
import { isHealthy, isLeader, probeMembers, spaceAlarms } from './probe.ts';
import { objectKeys } from './snapshot.ts';
import type { RunningEtcd, RunningMember } from './state.ts';

/** Of a store that is nearly full the free space is needed soon. */
const minDefragmentIntervalMs = { usually: 600_000, nearlyFull: 30_000 };
const nearlyFullShare = 0.85;

/** Once a minute: measures the store, gives free space back, and refuses what would fill it up. */
export async function keepEtcd(plane: ProcessPlane): Promise<StoreSize> {
  const etcd = plane.etcd!;
  await probeMembers(etcd);
  const leader = findLeader(etcd);
  if (!leader) return { bytes: plane.figures.bytes, objects: plane.figures.objects, last: 0 };
  await compactFull(etcd, leader);
  await defragment(plane, etcd);
  await endAlarms(plane, etcd);
  await guardFullStore(plane, etcd);
  const { revision, count } = await leader.client.range({ ...objectKeys, countOnly: true });
  return { bytes: leader.status!.usedBytes, objects: count, last: revision };
}

const findLeader = ({ members }: RunningEtcd): RunningMember | undefined => [...members.values()].find(isLeader);

/** Lists in pages, by which a tenant finds what to delete, are told to begin anew by each. */
const minCompactionIntervalMs = 30_000;

/** At its quota etcd refuses also the write with which apiservers begin a compaction: deletions would free nothing, for good. */
async function compactFull(etcd: RunningEtcd, { client, status }: RunningMember): Promise<void> {
  const revision = status!.revision;
  const { compacted } = etcd;
  if (spaceAlarms(etcd).size === 0 || revision <= compacted.revision || performance.now() - compacted.at < minCompactionIntervalMs) return;
  await client.compact(revision).catch((error) => {
    if (!isCompacted(error)) throw error; // an apiserver was faster
  });
  etcd.compacted = { revision, at: performance.now() };
  await probeMembers(etcd);
}

/** One member at a time, and only while all others answer: a member does nothing else meanwhile. Followers come first; the leader hands over. */
async function defragment(plane: ProcessPlane, etcd: RunningEtcd): Promise<void> {
  const all = [...etcd.members.values()];
  const isDue = all.some(({ status }) => status && needsDefragmentation(status, etcd.quotaBytes));
  const intervalMs = isNearlyFull(etcd) ? minDefragmentIntervalMs.nearlyFull : minDefragmentIntervalMs.usually;
  if (!isDue || !all.every(isHealthy) || performance.now() - etcd.defragmentedAt < intervalMs) return;
  etcd.defragmentedAt = performance.now();
  for (const member of all.sort((a, b) => Number(isLeader(a)) - Number(isLeader(b)))) {
    if (plane.applying || plane.stopping.signal.aborted || !needsDefragmentation(member.status!, etcd.quotaBytes)) continue;
    const heir = isLeader(member) ? all.find((other) => other !== member && !other.status!.isLearner) : undefined;
    if (heir) await member.client.moveLeader(heir.status!.memberId);
    member.isDefragmenting = true;
    await member.client.defragment().finally(() => {
      member.isDefragmenting = false;
    });
  }
  await probeMembers(etcd);
}

/** etcd refuses all writes from its quota on, until the alarm of each member is ended: once that has room again, or has left. */
export async function endAlarms(plane: ProcessPlane, etcd: RunningEtcd): Promise<void> {
  const alarms = spaceAlarms(etcd);
  const leader = findLeader(etcd);
  if (alarms.size === 0 || !leader) return;
  const listed = new Set((await leader.client.members()).map(({ id }) => id));
  const statuses = new Map([...etcd.members.values()].flatMap(({ status }) => (status ? [[status.memberId, status] as const] : [])));
  for (const id of alarms) {
    const status = statuses.get(id);
    const isFree = status ? !isFull(status.fileBytes, etcd.quotaBytes, true) : !listed.has(id);
    if (!isFree) continue;
    await leader.client.endSpaceAlarm(id);
    plane.app.log.info(
      { cluster: plane.parts.cluster().id, member: id },
      'a member of a cluster’s etcd has room again; its alarm is ended',
    );
  }
}

const largestFile = ({ members }: RunningEtcd): number => Math.max(0, ...[...members.values()].map(({ status }) => status?.fileBytes ?? 0));

/** It may be full before the next measurement that comes by itself, or its policy has to be changed still. */
export const isNearlyFull = (etcd: RunningEtcd): boolean => etcd.isFull !== false || largestFile(etcd) > nearlyFullShare * etcd.quotaBytes;

/** By the file, which is what etcd compares with its quota. */
async function guardFullStore(plane: ProcessPlane, etcd: RunningEtcd): Promise<void> {
  const full = isFull(largestFile(etcd), etcd.quotaBytes, etcd.isFull === true);
  const before = etcd.isFull;
  etcd.isFull = full;
  if (full !== before) plane.parts.wakeShard();
  if (!full && before === false) return;
  try {
    await (full ? closeFullStore(plane.ask, etcd.quotaBytes / 2 ** 30) : openStore(plane.ask));
  } catch (error) {
    // At its quota etcd takes no policy either. It is tried again at the next measurement.
    plane.app.log.warn({ err: error, cluster: plane.parts.cluster().id }, 'the policy of a full store could not be changed');
    if (!full) etcd.isFull = undefined;
  }
}

/** A sentence if the store is full: the cluster is degraded, and still served. */
export const describeFullStore = ({ etcd }: ProcessPlane): string | undefined =>
  etcd?.isFull
    ? `its datastore is 95 % full; until objects are deleted or datastore.storageGiB is larger it takes only deletions, leases and node status`
    : undefined;
