import { wallsOf } from '../../rules/process/cgroup.ts';
import type { Kind } from '../../rules/process/programs.ts';
import type { ProcessPlane } from './state.ts';

/** As long as what was measured is kept. */
const shownMs = 900_000;

/** Notes that the kernel ended a program because all of the cluster's had too much memory together; whoever finds one that has ended asks. */
export async function noteMemoryEnd(plane: ProcessPlane, kind: Kind): Promise<void> {
  if (!plane.cgroup) return;
  const kills = await plane.cgroup.memoryKills();
  if (kills > plane.memoryKills) {
    const known = plane.memoryEnds.get(kind);
    plane.memoryEnds.set(kind, { inAll: (known?.inAll ?? 0) + kills - plane.memoryKills, at: performance.now() });
  }
  plane.memoryKills = kills;
}

/** Whether that happened within the last quarter of an hour. */
export function isShortOfMemory({ memoryEnds }: ProcessPlane, kind: Kind): boolean {
  const last = memoryEnds.get(kind);
  return last !== undefined && performance.now() - last.at < shownMs;
}

/** Why a program is gone, for the cluster's people. */
export async function whyEnded(plane: ProcessPlane, kind: Kind): Promise<string> {
  const before = plane.memoryEnds.get(kind)?.inAll;
  await noteMemoryEnd(plane, kind);
  if (plane.memoryEnds.get(kind)?.inAll === before) return `${kind} ended; it is started again`;
  const { tier, replicas } = plane.parts.cluster();
  return `${kind} was ended: the cluster’s programs needed more than the ${wallsOf(tier, replicas).mostMiB} MiB of memory of its tier; it is started again`;
}
