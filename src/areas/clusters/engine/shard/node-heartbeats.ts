import type { App } from '../../../../kernel/app.ts';
import { now } from '../../../../kernel/time.ts';
import { heartbeatOf, markSilent } from '../../clients/tenant/heartbeats.ts';
import type { ControlPlane } from '../driver.ts';

/** As Kubernetes' own controller has it: a kubelet renews its lease every 10 s. */
const graceMs = 40_000;

/** When each node was last heard of here. What a node says of the time is only compared with what it said before: its clock may be wrong. */
export type LastHeartbeats = Map<string, { stamp: string; at: number }>;

/** Nodes that have not been heard of for a while are shown as not ready. How many nodes there are. */
export async function markSilentNodes(app: App, plane: ControlPlane, heard: LastHeartbeats): Promise<number> {
  const at = Date.parse(await app.db.read(now));
  const nodes = ((await plane.heartbeats?.()) ?? []).map(heartbeatOf);
  const names = new Set(nodes.map(({ name }) => name));
  for (const name of heard.keys()) if (!names.has(name)) heard.delete(name);
  for (const { name, stamp, isKnown } of nodes) {
    const last = heard.get(name);
    if (last?.stamp !== stamp) heard.set(name, { stamp, at });
    else if (isKnown && at - last.at > graceMs) await markSilent(plane.ask, name, new Date(at));
  }
  return nodes.length;
}
