import { ClusterError } from '../../../cluster-error.ts';
import type { StoreSnapshot } from '../../../driver.ts';
import { isHealthy, isLeader, probeMembers } from './probe.ts';
import type { RunningEtcd } from './state.ts';

/** All objects of an apiserver. */
export const objectKeys = { key: Buffer.from('/registry/'), end: Buffer.from('/registry0') };

/** A copy of the store, from a follower where there is one: writes wait for the leader's disk. */
export async function snapshotEtcd(etcd: RunningEtcd): Promise<StoreSnapshot> {
  await probeMembers(etcd);
  const able = [...etcd.members.values()].filter((member) => isHealthy(member) && !member.status!.isLearner && !member.isDefragmenting);
  const member = able.find((each) => !isLeader(each)) ?? able[0];
  if (!member) throw new ClusterError('no member of its datastore answers; try again in a moment');
  const { revision, count } = await member.client.range({ ...objectKeys, countOnly: true });
  return { kind: 'etcd', revision, objects: count, content: await member.client.snapshot() };
}
