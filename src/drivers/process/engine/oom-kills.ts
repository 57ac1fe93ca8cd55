import { cgroupLimitsOf } from '../rules/cgroup.ts';
import type { ProgramKind } from '../rules/programs.ts';
import type { ProcessPlane } from './state.ts';

/** As long as samples are kept. */
const recentMs = 900_000;

/** Counts OOM kills of the cluster's cgroup since the last call, for the program that was found exited. */
export async function recordOomKills(plane: ProcessPlane, kind: ProgramKind): Promise<void> {
  if (!plane.cgroup) return;
  const kills = await plane.cgroup.memoryKills();
  if (kills > plane.oomKillCount) {
    const known = plane.oomKills.get(kind);
    plane.oomKills.set(kind, { total: (known?.total ?? 0) + kills - plane.oomKillCount, at: performance.now() });
  }
  plane.oomKillCount = kills;
}

/** Whether the kernel killed one within the last 15 minutes. */
export function wasOomKilledRecently({ oomKills }: ProcessPlane, kind: ProgramKind): boolean {
  const last = oomKills.get(kind);
  return last !== undefined && performance.now() - last.at < recentMs;
}

/** Why a program exited, in a sentence for the tenant. */
export async function describeExit(plane: ProcessPlane, kind: ProgramKind): Promise<string> {
  const before = plane.oomKills.get(kind)?.total;
  await recordOomKills(plane, kind);
  if (plane.oomKills.get(kind)?.total === before) return `${kind} ended; it is started again`;
  return `${kind} was ended: the cluster’s programs needed more than the ${cgroupLimitsOf(plane.parts.cluster()).maxMiB} MiB of memory of its tier; it is started again`;
}
