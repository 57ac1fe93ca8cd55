import type { IncomingMessage } from 'node:http';
import type { App } from '../../../../kernel/app.ts';
import { runFor, type WorkContext } from '../../../../kernel/fairness/index.ts';
import { addressKey } from '../../../../kernel/http/anonymous-caller.ts';
import type { Front, ServedCluster } from '../../engine/shard/listener.ts';
import type { HttpFront, ListenerOptions, MeshDoor } from './types.ts';

/** Hands the requests of each listener to the control plane of its cluster. */
export const servePlanes = (app: App, front: HttpFront, meshDoor: MeshDoor): Front => ({
  open: ({ org, plane, mesh, takesUpgrades, ...listener }) =>
    front.open({
      ...listener,
      ...handlersOf(app, meshDoor, { id: listener.id, org, plane, mesh }),
      ...(takesUpgrades ? upgradeHandlerOf(app, org, plane) : {}),
    }),
  drain: front.drain,
  stop: front.stop,
});

/** An unauthenticated caller uses its address's share, not that of the cluster's organization. */
const contextOf = (app: App, org: string, request: IncomingMessage, isAuthenticated: boolean): WorkContext =>
  isAuthenticated ? { org, operation: 'kubernetes' } : { org: addressKey(app.peers, request), operation: 'kubernetes', isSystem: true };

const handlersOf = (
  app: App,
  meshDoor: MeshDoor,
  { id, org, plane, mesh }: Pick<ServedCluster, 'id' | 'org' | 'plane' | 'mesh'>,
): Pick<ListenerOptions, 'serve'> => ({
  serve: (request, response, { identity, isAuthenticated }) => {
    const context = contextOf(app, org, request, isAuthenticated);
    if (meshDoor.owns(request))
      return runFor(context, () => meshDoor.answer({ id, org, mesh: mesh() }, request, response, identity), app.watch);
    const served = plane();
    if (!served) return void response.writeHead(503, { 'retry-after': '1' }).end();
    runFor(context, () => served.serve(request, response, identity), app.watch);
  },
});

const upgradeHandlerOf = (app: App, org: string, plane: ServedCluster['plane']): Pick<ListenerOptions, 'upgrade'> => ({
  upgrade: (request, socket, head, { identity, isAuthenticated }) => {
    const served = plane();
    if (!served?.upgrade) return void socket.destroy();
    runFor(contextOf(app, org, request, isAuthenticated), () => served.upgrade!(request, socket, head, identity), app.watch);
  },
});
