import { ClusterError } from '../../../../drivers/cluster-error.ts';
import type { Binaries, ControlPlane, HoldRequest, Prepare, UnreadLimiter } from '../../../../drivers/driver.ts';
import { drivers } from '../../../../drivers/index.ts';
import type { Pki } from '../../../../drivers/keys.ts';
import type { App } from '../../../../kernel/app.ts';
import type { MeshHost } from '../../clients/mesh/types.ts';
import { prepareCluster } from '../../clients/tenant/prepare.ts';
import { tierOf } from '../../rules/tiers.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import { type HeldLease, keepPort, takePort } from '../../store/shards.ts';
import { originOf, switchTo } from '../backups/store-change.ts';
import { type RunningBalancer, startBalancer } from '../balancer/index.ts';
import type { Balancers } from '../balancer/listener.ts';
import { clusterAddressOf, portCount } from '../cluster-address.ts';
import { type RunningMesh, startMesh } from '../mesh/index.ts';
import { ensurePki, findPki } from '../pki.ts';
import { planeOptionsOf } from '../plane-options.ts';
import type { TenantClusters } from '../types.ts';
import { type Approver, startApprover } from './approver.ts';
import type { ClusterListener, Front } from './listener.ts';
import type { LastHeartbeats } from './node-heartbeats.ts';

/** A cluster that this server serves. */
export interface RunningCluster {
  /** As last applied. */
  row: ClusterRow;
  plane: ControlPlane;
  /** Undefined while another server still holds its port. */
  listener: ClusterListener | undefined;
  /** Listens at its port together with the server that it is taken over from. */
  openBeside?: () => Promise<ClusterListener>;
  approver: Approver;
  /** Of a cluster that runs pods. */
  balancer: RunningBalancer | undefined;
  mesh: RunningMesh | undefined;
  endpoint: string;
  /** The revision of the keys that the listener uses. */
  revision: number;
  /** Counts that are already in its meter. */
  metered: { requests: number; errors: number; bytesIn: number; bytesOut: number };
  /** Which nodes there were and which of them were ready, when that was last looked at. */
  nodeStates?: string;
  /** The peak of concurrent requests that is not in its meter yet. */
  inflightPeak: number;
  /** Whether it may have nodes, when their heartbeats were last checked (monotonic clock), and the last heartbeats. */
  hasNodes: boolean;
  heartbeatsCheckedAt: number;
  heartbeats: LastHeartbeats;
  /** Aborted when another server serves it: its watches end. */
  left: AbortController;
}

export interface ShardServices {
  app: App;
  front: Front;
  balancers: Balancers;
  meshHost: MeshHost;
  tenants: TenantClusters;
  isRefused(cluster: string, fingerprint: string): boolean;
  /** False once other servers may take the clusters of this one: it serves none until it knows better. */
  isCurrent(): boolean;
  holdOf(cluster: string, org: string): HoldRequest;
  binaries: Binaries;
  unread: UnreadLimiter;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
}

/** Creates its keys if it has none, opens its listener and its control plane. On failure both are closed again. */
export async function startCluster(services: ShardServices, held: HeldLease, row: ClusterRow): Promise<RunningCluster> {
  const { running, pki } = await beginCluster(services, row);
  const listener = await openListener(services, held, running, pki);
  Object.assign(running, { listener, endpoint: clusterAddressOf(services.app, row).endpoint(listener.port) });
  try {
    openMesh(services, held, running);
    await openControlPlane(services, held, running, pki);
    serveCluster(services, running);
    openBalancer(services, held, running);
    return running;
  } catch (error) {
    await Promise.all([listener.close(), running.mesh?.stop()]);
    await running.plane?.stop();
    throw error;
  }
}

/**
 * Opens the control plane of a cluster that another server serves: two control planes of one cluster agree by the database. `openBeside` and
 * `serveCluster` follow, and `openMesh` and `openBalancer` once the other server has closed its own.
 */
export async function startStandby(services: ShardServices, held: HeldLease, row: ClusterRow): Promise<RunningCluster> {
  const { app } = services;
  const { running, pki } = await beginCluster(services, row);
  const address = clusterAddressOf(app, row);
  running.endpoint = address.endpoint(row.port ?? address.listen.port);
  running.openBeside = async () => {
    const newest = (await app.db.read((tx) => findPki(tx, app, row.id))) ?? pki; // renewed meanwhile
    return openListener(services, held, running, newest, true);
  };
  try {
    await openControlPlane(services, held, running, pki);
    return running;
  } catch (error) {
    await running.plane?.stop();
    throw error;
  }
}

async function beginCluster({ app }: ShardServices, row: ClusterRow): Promise<{ running: RunningCluster; pki: Pki }> {
  const pki = await ensurePki(app, row, clusterAddressOf(app, row).hosts);
  const running = {
    row,
    revision: pki.revision,
    metered: { requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 },
    inflightPeak: 0,
    hasNodes: true,
    heartbeatsCheckedAt: Number.NEGATIVE_INFINITY,
    heartbeats: new Map(),
    left: new AbortController(),
  } as unknown as RunningCluster;
  return { running, pki };
}

async function openControlPlane(services: ShardServices, held: HeldLease, running: RunningCluster, pki: Pki): Promise<void> {
  const { app, binaries, unread } = services;
  const { row, endpoint, left } = running;
  const plane = drivers[row.driver]!.open(
    app,
    planeOptionsOf(app, {
      cluster: () => running.row,
      pki,
      endpoint,
      isRefused: (print) => services.isRefused(row.id, print),
      binaries,
      unread,
      nodeGuard: (host) => running.mesh?.guardOf(host) ?? app.guard,
      lease: held.lease,
      storeOrigin: originOf(app, held, () => running.row),
      beforeStoreSwitch: switchTo(app, held),
      hold: services.holdOf(row.id, row.org_id),
      ending: AbortSignal.any([app.ending, left.signal]),
    }),
  );
  running.plane = plane;
  await applyUnlessStopped(services, plane, pki, { row, endpoint });
}

/** From here on this server acts for the cluster: it decides certificate requests, and answers for its API. */
export function serveCluster({ app, tenants }: ShardServices, running: RunningCluster): void {
  const { plane, row } = running;
  running.approver = startApprover(
    app,
    plane,
    () => running.row,
    () => {
      running.hasNodes = true;
    },
  );
  tenants.serve(row.id, plane);
}

/** One server at a time has the interface. */
export function openMesh({ app, meshHost }: ShardServices, held: HeldLease, running: RunningCluster): void {
  if (running.row.driver !== 'process') return;
  running.mesh = startMesh({ app, host: meshHost, cluster: () => running.row, held, onChange: () => running.balancer?.poke() });
}

/** One server at a time listens at the addresses of a cluster's Services. */
export function openBalancer({ app, balancers }: ShardServices, { id, lease }: HeldLease, running: RunningCluster): void {
  const { plane, row } = running;
  if (row.driver !== 'process') return;
  const cluster = () => running.row;
  const listeners = balancers.open({
    id,
    org: row.org_id,
    mesh: () => running.mesh?.inside(),
    maxConnections: () => tierOf(running.row.tier).connections,
  });
  running.balancer = startBalancer({ app, plane, cluster, held: { id, lease }, listeners });
}

/** A stopping server does not wait for programs to become ready. */
async function applyUnlessStopped(
  { stopping }: ShardServices,
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

/** Applies a changed row or keys without failing a request. */
export async function applyChange(services: ShardServices, running: RunningCluster, row: ClusterRow): Promise<void> {
  const { app } = services;
  const pki = await ensurePki(app, row, clusterAddressOf(app, row).hosts);
  running.row = row;
  running.balancer?.poke();
  running.mesh?.poke();
  await applyUnlessStopped(services, running.plane, pki, running);
  if (pki.revision !== running.revision) running.listener?.renew(keysOf(pki));
  running.revision = pki.revision;
}

export async function stopCluster(
  { tenants }: ShardServices,
  { row, approver, balancer, mesh, listener, plane }: RunningCluster,
  { isHandOver = false } = {},
): Promise<void> {
  tenants.forget(row.id);
  await Promise.all([approver.stop(), balancer?.stop(), mesh?.stop({ isHandOver })]);
  await listener?.close();
  await (isHandOver && plane.leave ? plane.leave() : plane.stop());
}

/** How long connections of a cluster that another server has taken over go on here. */
const leaveLimits = { idleMs: 2_000, requestMs: 10_000 };

/** For a cluster that another server has taken over and serves already. `onShared`: that one may open the mesh and the load balancers now. */
export async function leaveCluster({ tenants }: ShardServices, running: RunningCluster, onShared: () => Promise<unknown>): Promise<void> {
  const { row, approver, balancer, mesh, listener, plane, left } = running;
  tenants.forget(row.id);
  const accepted = listener?.acceptNoMore();
  await Promise.all([accepted, approver.stop(), balancer?.stop(), mesh?.stop()]);
  await onShared();
  const drained = listener?.leave(leaveLimits);
  left.abort(); // after each watch's connection was marked to close with it
  await drained;
  await plane.stop();
}

const keysOf = (pki: Pki) => ({
  certificate: pki.servingCertificate,
  key: pki.servingKey,
  authority: pki.caCertificate,
  ...(pki.inner ? { innerAuthority: pki.inner.authority.certificate } : {}),
});

const maxPortAttempts = 20;

async function openListener(
  { app, front, isCurrent }: ShardServices,
  held: HeldLease,
  running: RunningCluster,
  pki: Pki,
  isBeside = false,
): Promise<ClusterListener> {
  const { row } = running;
  const { listen, serverName } = clusterAddressOf(app, row);
  const { host, port: first } = listen;
  const open = (port: number) =>
    front.open({
      id: row.id,
      org: row.org_id,
      listen: { host, port, ...(serverName === undefined ? { share: isBeside ? 'beside' : 'first' } : {}) },
      serverName,
      keys: keysOf(pki),
      maxConnections: () => tierOf(running.row.tier).connections,
      maxInflight: () => tierOf(running.row.tier).inflight,
      plane: () => (isCurrent() ? running.plane : undefined),
      mesh: () => running.mesh,
      takesUpgrades: row.driver === 'process',
    });
  if (serverName !== undefined) return open(first);
  if (isBeside && row.port !== null) return open(row.port);
  if (row.port !== null && (row.observed_generation > 0 || first === 0)) return open(row.port).catch(explainPortTaken(row.port));
  if (first === 0) {
    const listener = await open(0);
    await app.db.write((tx) => keepPort(tx, held, listener.port));
    return listener;
  }
  return openNextFree(app, held, row, first, open);
}

/** A cluster that was ready keeps its port: the program that took it has to release it. */
const explainPortTaken = (port: number) => (error: NodeJS.ErrnoException) => {
  throw error.code === 'EADDRINUSE' ? new ClusterError(`its port ${port} is taken by another program of the server`) : error;
};

/** Skips ports that other programs of this machine use. */
async function openNextFree(
  app: App,
  held: HeldLease,
  row: ClusterRow,
  first: number,
  open: (port: number) => Promise<ClusterListener>,
): Promise<ClusterListener> {
  const excluded: number[] = [];
  let port: number | undefined = row.port ?? undefined;
  for (let attempt = 0; attempt < maxPortAttempts; attempt++) {
    port ??= await app.db.write((tx) => takePort(tx, held, { first, count: portCount, excluded }));
    if (port === undefined)
      throw new ClusterError(`all ${portCount} ports from ${first} on are taken; the operator sets QUARTERDECK_CLUSTER_LISTEN`);
    try {
      return await open(port);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      excluded.push(port);
      port = undefined;
    }
  }
  throw new ClusterError(
    `${maxPortAttempts} ports from ${first} on are taken by other programs; the operator sets QUARTERDECK_CLUSTER_LISTEN`,
  );
}
