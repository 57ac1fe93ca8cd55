import type { ControlPlane } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { hint, wake } from '../../../../kernel/jobs/index.ts';
import { now } from '../../../../kernel/time.ts';
import { listAll } from '../../clients/tenant/ask.ts';
import { listBalancedServices, listSlices, nodesPath, type ServiceEvent, showAddress, tellService } from '../../clients/tenant/services.ts';
import {
  type BalancedNode,
  type BalancedService,
  chooseServices,
  makeSourceFilter,
  type NodeState,
  nodesOfSlices,
  type ReadService,
  readNode,
  readService,
  targetsOf,
} from '../../rules/load-balancer.ts';
import { tierOf } from '../../rules/tiers.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import * as store from '../../store/load-balancers.ts';
import type { HeldLease } from '../../store/shards.ts';
import { addressFree } from '../channels.ts';
import type { ClusterBalancer } from './listener.ts';

// One pass over a cluster's Services. Each address goes: taken (row) → listener open → shown in the Service's status; and back: listener closed →
// taken out of the status → row deleted. A crash between two steps leaves a state from which the next pass goes on: the row alone says whose an
// address is, and no row is deleted while a listener is open or a Service shows the address.

/** The cluster whose load balancers these are. */
export interface BalancerParts {
  app: App;
  plane: ControlPlane;
  cluster: () => ClusterRow;
  held: HeldLease;
  listeners: ClusterBalancer;
}

export interface BalancerState extends BalancerParts {
  /** By name, from the watch. */
  nodes: Map<string, NodeState>;
  nodesReadAt: number;
  /** The last Event of each Service, by uid, and when it was written. */
  told: Map<string, { sentence: string; at: number }>;
  isStopped: () => boolean;
}

export interface PassResult {
  /** Services with an address. */
  held: number;
  /** A Service waits for an address, or a listener does not accept connections. */
  isPending: boolean;
  /** Services whose endpoints decide which nodes get connections. */
  local: BalancedService[];
}

/** An Event that still holds is written again before it expires in the cluster. */
const tellAgainMs = 30 * 60_000;
/** Services that wait and are told why, in one pass. */
const maxTold = 20;

export async function reconcile(state: BalancerState, isOn: boolean): Promise<PassResult> {
  const { app, plane, cluster } = state;
  const { id, tier } = cluster();
  const found = isOn ? (await listBalancedServices(plane.ask)).flatMap((object) => readService(object) ?? []) : [];
  const [held, pools] = await app.db.read((tx) => Promise.all([store.balancersOf(tx, id), store.poolNetworks(tx)]));
  const rows = new Map(held.map((row) => [row.uid, row]));
  const isOfPool = pools.length > 0 ? makeSourceFilter(pools) : () => false;
  // A Service that has an address and was changed to something we refuse keeps the address, and is served as before.
  const eligible = found.filter(({ service, refusal }) => !refusal || rows.has(service.uid));
  const refused = found.filter(({ service, refusal }) => refusal && !rows.has(service.uid));
  const { served, beyond } = chooseServices(
    eligible.map((each) => ({ ...each, uid: each.service.uid, createdAt: each.service.createdAt })),
    new Set(rows.keys()),
    tierOf(tier).maxServices,
  );
  for (const [uid, row] of rows) if (!served.some((each) => each.uid === uid)) await release(state, row);
  const known = new Set(found.map(({ service }) => service.uid));
  for (const uid of state.told.keys()) if (!known.has(uid)) state.told.delete(uid);
  if (isOn && served.length > 0) await readNodes(state);

  const result: PassResult = { held: 0, isPending: false, local: [] };
  let failure: unknown;
  for (const each of served) {
    if (state.isStopped()) break;
    const outcome = await serveOne(state, each, rows.get(each.uid), isOfPool).catch((error) => {
      failure = error;
      return 'waits' as const;
    });
    if (outcome !== 'waits') result.held++;
    if (outcome !== 'served') result.isPending = true;
    if (outcome === 'served' && each.service.isLocal) result.local.push(each.service);
  }
  for (const { service, refusal } of refused.slice(0, maxTold)) await tell(state, service, { type: 'Warning', ...refusal! });
  for (const { service } of beyond.slice(0, maxTold)) await tell(state, service, beyondTier(tier));
  if (beyond.length > 0) result.isPending = true;
  if (failure !== undefined) throw failure;
  return result;
}

const beyondTier = (tier: string): ServiceEvent => ({
  type: 'Warning',
  reason: 'LoadBalancerLimit',
  message: `the tier ${tier} has room for ${tierOf(tier).maxServices} load-balanced Services; delete one, or choose a larger tier`,
});

async function readNodes(state: BalancerState): Promise<void> {
  if (state.nodesReadAt > Number.NEGATIVE_INFINITY) return;
  const found = (await listAll(state.plane.ask, nodesPath)).map(readNode);
  state.nodes.clear();
  for (const node of found.slice(0, tierOf(state.cluster().tier).nodes)) state.nodes.set(node.name, node);
  state.nodesReadAt = performance.now();
}

/** `waits`: it has no address. `closed`: it has one, and no open listener or no node behind it. */
async function serveOne(
  state: BalancerState,
  { service, refusal }: ReadService,
  row: store.BalancerRow | undefined,
  isOfPool: (address: string) => boolean,
): Promise<'waits' | 'closed' | 'served'> {
  const { app, cluster, listeners, plane } = state;
  if (refusal) {
    await listeners.setNodes(service.uid, (await findNodes(state, service, isOfPool)).nodes);
    await tell(state, service, { type: 'Warning', ...refusal });
    return 'served';
  }
  const isElsewhere = service.wantedAddress !== undefined && row !== undefined && row.address !== service.wantedAddress;
  // The listener of the address that it leaves is closed first: from the commit on another Service may have it.
  const canMove = isElsewhere && (await isFree(state, service.wantedAddress!));
  if (canMove) await listeners.close(service.uid);
  const address = row && !canMove ? row.address : await takeFor(state, service);
  if (address === undefined) return 'waits';
  if (isElsewhere && !canMove) await tell(state, service, unavailable(service));
  const { nodes, looping } = await findNodes(state, service, isOfPool);
  const { bind, nodes: unreached } = await listeners.serve({ ...service, address, nodes });
  if (state.isStopped()) return 'closed';
  if ((bind ?? null) !== (row?.problem ?? null)) {
    await app.db.write((tx) => store.noteBalancerProblem(tx, cluster().id, service.uid, bind ?? null));
    if (bind !== undefined)
      app.log.warn({ cluster: cluster().id, service: `${service.namespace}/${service.name}` }, `load balancer: ${bind}`);
  }
  if (bind !== undefined) {
    await tell(state, service, {
      type: 'Warning',
      reason: 'LoadBalancerClosed',
      message: `${bind}; it is tried again, and the operator is told`,
    });
    return 'closed';
  }
  // The last step: from here on clients are sent to this address.
  const isShown = await showAddress(plane.ask, service, { ip: address, ipMode: service.proxyProtocol ? 'Proxy' : 'VIP' });
  if (!isShown || (isElsewhere && !canMove)) return 'served';
  const why = nodes.length === 0 ? (looping ? ownAddress(looping) : noNodes(service)) : unreached;
  await tell(
    state,
    service,
    why === undefined
      ? { type: 'Normal', reason: 'LoadBalancerReady', message: `${address} accepts connections` }
      : { type: 'Warning', reason: 'LoadBalancerWithoutNodes', message: why },
  );
  return 'served';
}

/** A node at an address of the pool would send each connection back to a load balancer; `looping` is such a node. */
async function findNodes({ nodes, plane }: BalancerState, service: BalancedService, isOfPool: (address: string) => boolean) {
  const local = service.isLocal ? nodesOfSlices(await listSlices(plane.ask, service)) : undefined;
  const found = targetsOf(service.uid, [...nodes.values()], local);
  return { nodes: found.filter(({ address }) => !isOfPool(address)), looping: found.find(({ address }) => isOfPool(address)) };
}

const ownAddress = ({ name, address }: BalancedNode) =>
  `the node ${name} says that its address is ${address}, which is one of the load balancers’ own; give the node its own address`;

const noNodes = ({ isLocal }: BalancedService) =>
  isLocal
    ? 'no ready node has an endpoint of this Service, and externalTrafficPolicy is Local; connections are refused until one has'
    : 'no node is ready; connections are refused until one is';

const unavailable = ({ wantedAddress }: BalancedService): ServiceEvent => ({
  type: 'Warning',
  reason: 'LoadBalancerAddress',
  message: `loadBalancerIP ${wantedAddress} is not free here: it is no address of the operator’s pool, or another Service has it; leave it out to get a free one`,
});

const isFree = ({ app }: BalancerState, address: string): Promise<boolean> => app.db.read((tx) => store.isAddressFree(tx, address));

/** In one transaction with the cluster's lock: of two Services that want the last address, exactly one gets it. */
async function takeFor(state: BalancerState, service: BalancedService): Promise<string | undefined> {
  const { app, held } = state;
  const taken = await app.db.write(async (tx) => {
    const holder = await store.lockHeldCluster(tx, held);
    if (!holder) throw leaseLost();
    if (!holder.load_balancers || holder.phase === 'deleting') return 'off';
    const others = (await store.balancersOf(tx, held.id)).filter(({ uid }) => uid !== service.uid);
    if (others.length >= tierOf(holder.tier).maxServices) return 'limit';
    const { uid, namespace, name, wantedAddress: wanted } = service;
    const address = await store.takeAddress(tx, { org: holder.org_id, cluster: held.id, uid, namespace, service: name, wanted });
    if (address !== undefined) hint(tx, holder.org_id, 'clusters.cluster');
    return address === undefined ? 'none' : { address };
  });
  if (typeof taken === 'object') return taken.address;
  if (taken === 'limit') await tell(state, service, beyondTier(state.cluster().tier));
  else if (taken === 'none') await tell(state, service, service.wantedAddress === undefined ? noneFree : unavailable(service));
  return undefined;
}

const leaseLost = () => new Error('the lease of the cluster is lost');

const noneFree: ServiceEvent = {
  type: 'Warning',
  reason: 'LoadBalancerAddress',
  message: 'every address of the operator’s pool is taken; the Service gets one as soon as one is free',
};

/** Closes the listener, takes the address out of the Service's status, and gives it back; a server that lost the lease does not: another one listens. */
async function release({ app, plane, cluster, held, listeners }: BalancerState, row: store.BalancerRow): Promise<void> {
  await listeners.close(row.uid);
  await showAddress(plane.ask, { uid: row.uid, namespace: row.namespace, name: row.service }, undefined);
  await app.db.write(async (tx) => {
    if (!(await store.lockHeldCluster(tx, held))) throw leaseLost();
    await store.releaseAddress(tx, cluster().id, row.uid);
    hint(tx, cluster().org_id, 'clusters.cluster');
    wake(tx, addressFree);
  });
}

/** Once for each sentence, and again before the cluster forgets it. */
async function tell(state: BalancerState, service: BalancedService, event: ServiceEvent): Promise<void> {
  const sentence = `${event.reason}: ${event.message}`;
  const last = state.told.get(service.uid);
  if (last?.sentence === sentence && (event.type === 'Normal' || performance.now() - last.at < tellAgainMs)) return;
  const at = new Date(await state.app.db.read(now));
  await tellService(state.plane.ask, service, event, at);
  state.told.set(service.uid, { sentence, at: performance.now() });
}
