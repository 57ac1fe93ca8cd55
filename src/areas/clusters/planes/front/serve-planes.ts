import type { IncomingMessage } from 'node:http';
import type { Writable } from 'node:stream';
import type { ControlPlane, HoldRequest } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { runFor, type WorkContext } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { addressKey } from '../../../../kernel/http/anonymous-caller.ts';
import type { Front, ServedCluster } from '../../engine/shard/listener.ts';
import type { HoldingRoom } from './holding.ts';
import { refuse } from './refuse.ts';
import type { HttpFront, ListenerOptions, MeshDoor } from './types.ts';

/** Hands the requests of each listener to the control plane of its cluster. While there is none they wait in `room`. */
export const servePlanes = (app: App, front: HttpFront, meshDoor: MeshDoor, room: HoldingRoom): Front => ({
  open: ({ org, plane, mesh, takesUpgrades, ...listener }) => {
    const hold = room.of(listener.id, org);
    return front.open({
      ...listener,
      ...handlersOf(app, meshDoor, hold, { id: listener.id, org, plane, mesh }),
      ...(takesUpgrades ? upgradeHandlerOf(app, org, hold, plane) : {}),
    });
  },
  drain: front.drain,
  stop: front.stop,
});

/** An unauthenticated caller uses its address's share, not that of the cluster's organization. */
const contextOf = (app: App, org: string, request: IncomingMessage, isAuthenticated: boolean): WorkContext =>
  isAuthenticated ? { org, operation: 'kubernetes' } : { org: addressKey(app.peers, request), operation: 'kubernetes', isSystem: true };

const handlersOf = (
  app: App,
  meshDoor: MeshDoor,
  hold: HoldRequest,
  { id, org, plane, mesh }: Pick<ServedCluster, 'id' | 'org' | 'plane' | 'mesh'>,
): Pick<ListenerOptions, 'serve'> => ({
  serve: (request, response, { identity, isAuthenticated }) => {
    const context = contextOf(app, org, request, isAuthenticated);
    if (meshDoor.owns(request))
      return runFor(context, () => meshDoor.answer({ id, org, mesh: mesh() }, request, response, identity), app.watch);
    const refuseAway = () =>
      refuse(
        response,
        503,
        'ServiceUnavailable',
        'the control plane of this cluster is being taken over by another server; try again in a moment',
      );
    withPlane(hold, request, response, plane, refuseAway, (served) =>
      runFor(context, () => served.serve(request, response, identity), app.watch),
    );
  },
});

const upgradeHandlerOf = (app: App, org: string, hold: HoldRequest, plane: ServedCluster['plane']): Pick<ListenerOptions, 'upgrade'> => ({
  upgrade: (request, socket, head, { identity, isAuthenticated }) => {
    const context = contextOf(app, org, request, isAuthenticated);
    const cut = () => void socket.destroy();
    withPlane(hold, request, socket, plane, cut, (served) => {
      if (!served.upgrade) return cut();
      runFor(context, () => served.upgrade!(request, socket, head, identity), app.watch);
    });
  },
});

/** Calls `serve` once there is a plane, else `refuse`. Who the caller is was read from the connection, which is cut when that is refused meanwhile. */
function withPlane(
  hold: HoldRequest,
  request: IncomingMessage,
  caller: Writable,
  plane: ServedCluster['plane'],
  refuse: () => void,
  serve: (plane: ControlPlane) => void,
): void {
  const served = plane();
  if (served) {
    serve(served);
    return;
  }
  const goOn = guarded('clusters.front.held', caller, (isOpen: boolean) => {
    if (caller.destroyed) return;
    const opened = isOpen ? plane() : undefined;
    if (opened) serve(opened);
    else refuse();
  });
  void hold(request, caller, () => plane() !== undefined).then(goOn);
}
