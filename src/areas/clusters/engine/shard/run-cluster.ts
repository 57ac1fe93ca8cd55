import type { IncomingMessage } from 'node:http';
import type { App } from '../../../../kernel/app.ts';
import { runFor, type WorkContext } from '../../../../kernel/fairness/index.ts';
import { addressKey } from '../../../../kernel/http/anonymous-caller.ts';
import type { Binaries } from '../../clients/process/binaries.ts';
import { prepareCluster } from '../../clients/tenant/prepare.ts';
import { tierOf } from '../../rules/tiers.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import { type Held, keepPort, takePort } from '../../store/shards.ts';
import { type ControlPlane, drivers, type Prepare } from '../driver.ts';
import type { Unread } from '../embedded/unread.ts';
import { ensurePki, findPki, type Pki } from '../pki.ts';
import { type Place, placeOf, portsInAll } from '../place.ts';
import type { Tenants } from '../tenants.ts';
import { ClusterTrouble } from '../trouble.ts';
import { type Approver, startApprover } from './approver.ts';
import type { Door, Front } from './door.ts';
import type { Heard } from './silent-nodes.ts';

/** A cluster that this server serves. */
export interface RunningCluster {
  /** As it was last applied. */
  row: ClusterRow;
  plane: ControlPlane;
  door: Door;
  approver: Approver;
  endpoint: string;
  /** Of its keys, as they are shown now. */
  revision: number;
  /** What was counted into its meter already. */
  counted: { requests: number; errors: number };
  /** Of requests at once, where it is not counted yet. */
  peak: number;
  /** Whether it may have nodes to listen for, when they were last listened for by the monotonic clock, and what was heard. */
  hasNodes: boolean;
  listenedAt: number;
  heard: Heard;
}

export interface Machinery {
  app: App;
  front: Front;
  tenants: Tenants;
  isRefused(cluster: string, fingerprint: string): boolean;
  binaries: Binaries;
  unread: Unread;
  /** Once the server stops, nothing is waited for any more. */
  stopping: AbortSignal;
}

/** Makes its keys if it has none, opens its listener, and its control plane behind it. What fails leaves nothing behind. */
export async function startCluster(machinery: Machinery, held: Held, row: ClusterRow): Promise<RunningCluster> {
  const { app, tenants, binaries, unread } = machinery;
  const place = placeOf(app, row);
  const pki = await ensurePki(app, row, place.hosts);
  const running = {
    ...{ row, revision: pki.revision, counted: { requests: 0, errors: 0 }, peak: 0 },
    ...{ hasNodes: true, listenedAt: Number.NEGATIVE_INFINITY, heard: new Map() },
  } as unknown as RunningCluster;
  const cluster = () => running.row;
  let plane: ControlPlane | undefined;
  const door = await openDoor(machinery, held, row, place, pki, cluster, () => plane);
  try {
    const endpoint = place.endpoint(door.port);
    const isRefused = (print: string) => machinery.isRefused(row.id, print);
    plane = drivers[row.driver]!.open(app, { cluster, pki, endpoint, isRefused, binaries, unread, lease: held.lease });
    Object.assign(running, { plane, door, endpoint });
    await applyUnlessStopped(machinery, plane, pki, { row, endpoint });
    running.approver = startApprover(app, plane, cluster, () => {
      running.hasNodes = true;
    });
    tenants.serve(row.id, plane);
    return running;
  } catch (error) {
    await door.close();
    await plane?.stop();
    throw error;
  }
}

/** A server that stops does not wait for programs to become ready. */
async function applyUnlessStopped(
  { stopping }: Machinery,
  plane: ControlPlane,
  pki: Pki,
  { row: { name, version }, endpoint }: Pick<RunningCluster, 'row' | 'endpoint'>,
): Promise<void> {
  stopping.throwIfAborted();
  const prepare: Prepare = (ask) => prepareCluster(ask, { name, endpoint, version, caCertificate: pki.caCertificate });
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  const give = () => reject(stopping.reason);
  stopping.addEventListener('abort', give, { once: true });
  await Promise.race([plane.apply(pki, prepare), stopped]).finally(() => stopping.removeEventListener('abort', give));
}

/** Takes up what was changed, without a request that fails. */
export async function applyChange(machinery: Machinery, running: RunningCluster, row: ClusterRow): Promise<void> {
  const { app } = machinery;
  const pki = await app.db.read((tx) => findPki(tx, app, row.id));
  if (!pki) throw new Error('the keys are gone');
  running.row = row;
  await applyUnlessStopped(machinery, running.plane, pki, running);
  if (pki.revision !== running.revision) running.door.renew(keysOf(pki));
  running.revision = pki.revision;
}

export async function stopCluster({ tenants }: Machinery, running: RunningCluster): Promise<void> {
  tenants.forget(running.row.id);
  await running.approver.stop();
  await running.door.close();
  await running.plane.stop();
}

const keysOf = (pki: Pki) => ({
  certificate: pki.servingCertificate,
  key: pki.servingKey,
  authority: pki.caCertificate,
  ...(pki.inner ? { house: pki.inner.authority.certificate } : {}),
});

const mostPorts = 20;

async function openDoor(
  { app, front }: Machinery,
  held: Held,
  row: ClusterRow,
  place: Place,
  pki: Pki,
  cluster: () => ClusterRow,
  plane: () => ControlPlane | undefined,
): Promise<Door> {
  const { host, port: first } = place.listen;
  // A caller that has proven nothing uses its address's share, not that of the cluster's organization.
  const contextOf = (request: IncomingMessage, isKnown: boolean): WorkContext =>
    isKnown
      ? { org: row.org_id, operation: 'kubernetes' }
      : { org: addressKey(app.peers, request), operation: 'kubernetes', isSystem: true };
  const open = (port: number) =>
    front.open({
      id: row.id,
      listen: { host, port },
      serverName: place.serverName,
      keys: keysOf(pki),
      most: () => tierOf(cluster().tier).connections,
      inflight: () => tierOf(cluster().tier).inflight,
      serve: (request, response, { identity, isKnown }) => {
        const served = plane();
        if (!served) return void response.writeHead(503, { 'retry-after': '1' }).end();
        runFor(contextOf(request, isKnown), () => served.serve(request, response, identity), app.watch);
      },
      ...(row.driver === 'process'
        ? {
            talk: (request, socket, head, { identity, isKnown }) => {
              const served = plane();
              if (!served?.talk) return void socket.destroy();
              runFor(contextOf(request, isKnown), () => served.talk!(request, socket, head, identity), app.watch);
            },
          }
        : {}),
    });
  if (place.serverName !== undefined) return open(first);
  if (row.port !== null && (row.observed_generation > 0 || first === 0)) return open(row.port).catch(sayTaken(row.port));
  if (first === 0) {
    const door = await open(0);
    await app.db.write((tx) => keepPort(tx, held, door.port));
    return door;
  }
  return openNextFree(app, held, row, first, open);
}

/** The cluster's port once it has been ready: whoever has it must give it back. */
const sayTaken = (port: number) => (error: NodeJS.ErrnoException) => {
  throw error.code === 'EADDRINUSE' ? new ClusterTrouble(`its port ${port} is taken by another program of the server`) : error;
};

/** A port that another program of this machine has is passed over. */
async function openNextFree(app: App, held: Held, row: ClusterRow, first: number, open: (port: number) => Promise<Door>): Promise<Door> {
  const but: number[] = [];
  let port: number | undefined = row.port ?? undefined;
  for (let tries = 0; tries < mostPorts; tries++) {
    port ??= await app.db.write((tx) => takePort(tx, held, { first, many: portsInAll, but }));
    if (port === undefined)
      throw new ClusterTrouble(`all ${portsInAll} ports from ${first} on are taken; the operator sets QUARTERDECK_CLUSTER_LISTEN`);
    try {
      return await open(port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      but.push(port);
      port = undefined;
    }
  }
  throw new ClusterTrouble(`${mostPorts} ports from ${first} on are taken by other programs; the operator sets QUARTERDECK_CLUSTER_LISTEN`);
}
