import { ClusterError } from '../../../../drivers/cluster-error.ts';
import type { Binaries, ControlPlane, Prepare, UnreadLimiter } from '../../../../drivers/driver.ts';
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
import { type ClusterAddress, clusterAddressOf, portCount } from '../cluster-address.ts';
import { type RunningMesh, startMesh } from '../mesh/index.ts';
import { ensurePki } from '../pki.ts';
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
  listener: ClusterListener;
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
}

export interface ShardServices {
  app: App;
  front: Front;
  balancers: Balancers;
  meshHost: MeshHost;
  tenants: TenantClusters;
  isRefused(cluster: string, fingerprint: string): boolean;
  binaries: Binaries;
  unread: UnreadLimiter;
  /** Aborted when the server stops. */
  stopping: AbortSignal;
}

/** Creates its keys if it has none, opens its listener and its control plane. On failure both are closed again. */
export async function startCluster(services: ShardServices, held: HeldLease, row: ClusterRow): Promise<RunningCluster> {
  const { app, tenants, binaries, unread } = services;
  const address = clusterAddressOf(app, row);
  const pki = await ensurePki(app, row, address.hosts);
  const running = {
    row,
    revision: pki.revision,
    metered: { requests: 0, errors: 0, bytesIn: 0, bytesOut: 0 },
    inflightPeak: 0,
    hasNodes: true,
    heartbeatsCheckedAt: Number.NEGATIVE_INFINITY,
    heartbeats: new Map(),
  } as unknown as RunningCluster;
  const cluster = () => running.row;
  let plane: ControlPlane | undefined;
  const listener = await openListener(services, held, row, address, pki, running, () => plane);
  try {
    const endpoint = address.endpoint(listener.port);
    const isRefused = (print: string) => services.isRefused(row.id, print);
    running.mesh = row.driver === 'process' ? startMesh({ app, host: services.meshHost, cluster, held }) : undefined;
    const storeHooks = { storeOrigin: originOf(app, held, cluster), beforeStoreSwitch: switchTo(app, held) };
    const nodeGuard = (host: string) => running.mesh?.guardOf(host) ?? app.guard;
    const given = { cluster, pki, endpoint, isRefused, binaries, unread, nodeGuard, lease: held.lease, ...storeHooks };
    plane = drivers[row.driver]!.open(app, planeOptionsOf(app, given));
    Object.assign(running, { plane, listener, endpoint });
    await applyUnlessStopped(services, plane, pki, { row, endpoint });
    running.approver = startApprover(app, plane, cluster, () => {
      running.hasNodes = true;
    });
    running.balancer = row.driver === 'process' ? openBalancer(services, held, running) : undefined;
    tenants.serve(row.id, plane);
    return running;
  } catch (error) {
    await Promise.all([listener.close(), running.mesh?.stop()]);
    await plane?.stop();
    throw error;
  }
}

function openBalancer({ app, balancers }: ShardServices, { id, lease }: HeldLease, running: RunningCluster): RunningBalancer {
  const { plane, row } = running;
  const cluster = () => running.row;
  const guardOf = (host: string) => running.mesh?.guardOf(host) ?? app.guard;
  const listeners = balancers.open({ id, org: row.org_id, guardOf, maxConnections: () => tierOf(running.row.tier).connections });
  return startBalancer({ app, plane, cluster, held: { id, lease }, listeners });
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
  if (pki.revision !== running.revision) running.listener.renew(keysOf(pki));
  running.revision = pki.revision;
}

export async function stopCluster(
  { tenants }: ShardServices,
  { row, approver, balancer, mesh, listener, plane }: RunningCluster,
  { isHandOver = false } = {},
): Promise<void> {
  tenants.forget(row.id);
  await Promise.all([approver.stop(), balancer?.stop(), mesh?.stop({ isHandOver })]);
  await listener.close();
  await (isHandOver && plane.leave ? plane.leave() : plane.stop());
}

const keysOf = (pki: Pki) => ({
  certificate: pki.servingCertificate,
  key: pki.servingKey,
  authority: pki.caCertificate,
  ...(pki.inner ? { innerAuthority: pki.inner.authority.certificate } : {}),
});

const maxPortAttempts = 20;

async function openListener(
  { app, front }: ShardServices,
  held: HeldLease,
  row: ClusterRow,
  address: ClusterAddress,
  pki: Pki,
  running: RunningCluster,
  plane: () => ControlPlane | undefined,
): Promise<ClusterListener> {
  const { host, port: first } = address.listen;
  const open = (port: number) =>
    front.open({
      id: row.id,
      org: row.org_id,
      listen: { host, port },
      serverName: address.serverName,
      keys: keysOf(pki),
      maxConnections: () => tierOf(running.row.tier).connections,
      maxInflight: () => tierOf(running.row.tier).inflight,
      plane,
      mesh: () => running.mesh,
      takesUpgrades: row.driver === 'process',
    });
  if (address.serverName !== undefined) return open(first);
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
