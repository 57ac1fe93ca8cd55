import type { RunningEtcd, RunningMember } from './state.ts';

const limits = { probeTimeoutMs: 5_000, maxFailedProbes: 3 };

/** Whether a member has missed so many probes that it has to be restarted. */
export const isStuck = ({ unansweredProbes, isDefragmenting }: RunningMember): boolean =>
  unansweredProbes >= limits.maxFailedProbes && !isDefragmenting;

export const isHealthy = ({ status }: Pick<RunningMember, 'status'>): boolean => status !== undefined && status.leader !== '0';

/** Asks all members how they are. */
export async function probeMembers(etcd: RunningEtcd, timeoutMs = limits.probeTimeoutMs): Promise<void> {
  await Promise.all(
    [...etcd.members.values()].map(async (member) => {
      member.status = await member.client.status(timeoutMs).catch(() => undefined);
      member.unansweredProbes = member.status ? 0 : member.unansweredProbes + 1;
    }),
  );
}

/** Whether it is the one that all writes go through. */
export const isLeader = ({ status }: Pick<RunningMember, 'status'>): boolean => status !== undefined && status.leader === status.memberId;

/** Ids of members that raised an alarm for want of space. Every member tells the alarms of all, also of members that have left. */
export function spaceAlarms({ members }: RunningEtcd): Set<string> {
  const errors = [...members.values()].flatMap(({ status }) => status?.errors ?? []);
  return new Set(errors.flatMap((error) => /^memberID:(\d{1,20}) alarm:NOSPACE/.exec(error)?.[1] ?? []));
}
