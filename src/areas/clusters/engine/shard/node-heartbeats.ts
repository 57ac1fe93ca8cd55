import type { ControlPlane } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { now } from '../../../../kernel/time.ts';
import { heartbeatOf, markSilent } from '../../clients/tenant/heartbeats.ts';

/** The default of Kubernetes' node controller; a kubelet renews its lease every 10 s. */
const graceMs = 40_000;

/** When each node's heartbeat last changed. A node's timestamps are only compared with its earlier ones, because its clock may be wrong. */
export type LastHeartbeats = Map<string, { stamp: string; at: number }>;

/** Marks nodes without a recent heartbeat as not ready. Returns the number of nodes. */
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
