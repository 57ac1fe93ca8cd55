import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { makeKeyedLimit, RoundRobinQueue } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import type { DialOptions } from '../../../../kernel/guard/index.ts';
import { addressOfPeer } from '../../../../kernel/http/peer.ts';
import type { Logger } from '../../../../kernel/log.ts';
import type { BalancerFigures, ServedService, ServingProblems } from '../../engine/balancer/listener.ts';
import { type BalancedNode, makeSourceFilter } from '../../rules/load-balancer.ts';
import { type ConnectionEnd, type ProxyProtocol, proxyHeader } from '../../rules/proxy-header.ts';
import type { ServedCluster, SocketAt } from './channel.ts';
import { makeNodeHealth, type NodeHealth } from './health.ts';
import { type Relay, startRelay } from './relay.ts';

// TCP listeners of load balancers. A connection is counted before anything is read from it, waits its organization's turn, and is joined with
// one to a node's port. Nothing of the client is read before that, so up to three nodes can be tried without the client's notice.

/** Over all clusters of this process; one organization has at most half. */
const maxConnections = { each: 10_000, all: 20_000 };
/** The share of a cluster's connections that one client address may have. */
const addressShare = 1 / 4;
const connect = { timeoutMs: 5_000, attempts: 3 };
/** Connections that are begun in one turn of the event loop, round-robin by organization. */
const startsPerTurn = 8;
const acceptPollMs = 20;

/** Where the listening sockets come from, and go to. */
export interface ServiceSockets {
  /** Rejects as `listen` of node fails. */
  listen(server: Server, at: SocketAt): Promise<void>;
  /** Accepts no more; open connections go on. */
  close(server: Server): void;
}

/** Connects to a port of a node, through the guard. */
export type DialNode = (cluster: ServedCluster, node: BalancedNode, port: number, options: DialOptions) => Promise<Socket>;

export interface ServicesParts {
  log: Logger;
  sockets: ServiceSockets;
  dial: DialNode;
}

/** The listeners of all clusters of this process. */
export interface Services {
  /** Opens, changes and closes listeners until they are as given. */
  serve(cluster: ServedCluster, service: ServedService): Promise<ServingProblems>;
  setNodes(cluster: ServedCluster, uid: string, nodes: readonly BalancedNode[]): void;
  close(cluster: string, uid: string): Promise<void>;
  closeAll(cluster: string): Promise<void>;
  /** Accepts no more; connections have this long to end. */
  drain(limitMs: number): Promise<void>;
  /** By cluster, since it was first served; none of one that is closed. */
  figures(): Map<string, BalancerFigures>;
}

interface Parts extends ServicesParts {
  admit: ReturnType<typeof makeKeyedLimit>;
  /** Begins connections in turns. */
  enqueue(org: string, start: () => void): void;
  clusters: Map<string, Cluster>;
  /** From then on no listener is opened. */
  isDraining: boolean;
}

interface Cluster extends ServedCluster {
  counts: Counts;
  services: Map<string, ServiceListeners>;
}

interface Counts {
  bytesIn: number;
  bytesOut: number;
  connections: number;
  byAddress: Map<string, number>;
}

interface ServiceListeners {
  service: ServedService;
  isAllowed: (client: string) => boolean;
  health: NodeHealth;
  /** By port. */
  servers: Map<number, Server>;
  relays: Set<Relay>;
  /** Clients whose connection to a node is not there yet. */
  waiting: Set<Socket>;
}

export function makeServices(given: ServicesParts): Services {
  const clusters: Parts['clusters'] = new Map();
  const parts: Parts = { ...given, admit: makeKeyedLimit(maxConnections), enqueue: makeTurns(), clusters, isDraining: false };
  const all = () => [...clusters.values()].flatMap(({ services }) => [...services.values()]);
  const close = async (id: string, uid: string) => {
    const services = clusters.get(id)?.services;
    const found = services?.get(uid);
    if (!found) return;
    services!.delete(uid);
    await closeService(parts, found);
  };
  return {
    async serve(given, service) {
      if (parts.isDraining) return {};
      const cluster = clusters.get(given.id) ?? { ...given, counts: noCounts(), services: new Map() };
      clusters.set(given.id, Object.assign(cluster, given));
      const { services } = cluster;
      const before = services.get(service.uid);
      if (before && before.service.address !== service.address) await close(given.id, service.uid);
      const listeners = services.get(service.uid) ?? newListeners(parts, cluster, service);
      services.set(service.uid, listeners);
      listeners.service = service;
      listeners.isAllowed = makeSourceFilter(service.sourceRanges);
      const bind = await matchPorts(parts, cluster, listeners);
      // Closed meanwhile.
      if (services.get(service.uid) !== listeners || parts.isDraining) await closeService(parts, listeners);
      return { bind, nodes: listeners.health.problem() };
    },
    setNodes(given, uid, nodes) {
      const cluster = clusters.get(given.id);
      const found = cluster?.services.get(uid);
      if (!cluster || !found) return;
      Object.assign(cluster, given);
      found.service = { ...found.service, nodes };
    },
    close,
    async closeAll(id) {
      const uids = [...(clusters.get(id)?.services.keys() ?? [])];
      await Promise.all(uids.map((uid) => close(id, uid)));
      clusters.delete(id);
    },
    figures: () => new Map([...clusters.values()].map((cluster) => [cluster.id, figuresOf(cluster)])),
    async drain(limitMs) {
      parts.isDraining = true;
      for (const { servers } of all()) for (const server of servers.values()) parts.sockets.close(server);
      const until = performance.now() + limitMs;
      while (all().some(({ relays, waiting }) => relays.size + waiting.size > 0) && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, acceptPollMs));
      for (const each of all()) cutConnections(each);
    },
  };
}

const noCounts = (): Counts => ({ bytesIn: 0, bytesOut: 0, connections: 0, byAddress: new Map() });

function figuresOf({ counts, services }: Cluster): BalancerFigures {
  let { bytesIn, bytesOut } = counts;
  for (const { relays } of services.values())
    for (const relay of relays) {
      bytesIn += relay.bytesIn();
      bytesOut += relay.bytesOut();
    }
  return { bytesIn, bytesOut, connections: counts.connections };
}

function makeTurns(): Parts['enqueue'] {
  const queue = new RoundRobinQueue<() => void>();
  let isScheduled = false;
  const begin = () => {
    isScheduled = false;
    for (let n = startsPerTurn; n > 0; n--) queue.next()?.();
    schedule();
  };
  const schedule = () => {
    if (isScheduled || queue.size === 0) return;
    isScheduled = true;
    setImmediate(begin);
  };
  return (org, start) => {
    queue.push(org, start);
    schedule();
  };
}

function newListeners({ dial }: Parts, cluster: Cluster, service: ServedService): ServiceListeners {
  const listeners: ServiceListeners = {
    service,
    isAllowed: () => true,
    health: makeNodeHealth(
      (node, at, options) => dial(cluster, node, at, options),
      () => listeners.service.nodes,
      () => listeners.service.ports.map(({ nodePort }) => nodePort),
    ),
    servers: new Map(),
    relays: new Set(),
    waiting: new Set(),
  };
  return listeners;
}

/** Opens the ports that are new and closes those that are gone. Returns why a port does not accept connections. */
async function matchPorts(parts: Parts, cluster: Cluster, listeners: ServiceListeners): Promise<string | undefined> {
  const { service, servers } = listeners;
  const wanted = new Set(service.ports.map(({ port }) => port));
  for (const [port, server] of servers)
    if (!wanted.has(port)) {
      servers.delete(port);
      parts.sockets.close(server);
    }
  if (isOwnAddress(service.address)) return `${service.address} is an address of the server’s own interfaces`;
  let problem: string | undefined;
  for (const port of wanted) {
    if (servers.has(port)) continue;
    try {
      servers.set(port, await listenAt(parts, cluster, listeners, port));
    } catch (error) {
      problem ??= explainBind(service.address, port, error as NodeJS.ErrnoException);
    }
  }
  return problem;
}

const isOwnAddress = (address: string): boolean =>
  Object.values(networkInterfaces()).some((found) => found?.some((each) => each.address === address));

const bindProblems: Record<string, string> = {
  EADDRNOTAVAIL: 'is not local to the server; the operator adds a route there (ip route add local … dev lo)',
  EADDRINUSE: 'is used by another program of the server',
  EACCES: 'needs the right to listen below 1024 (CAP_NET_BIND_SERVICE)',
};

const explainBind = (address: string, port: number, { code = 'unknown' }: NodeJS.ErrnoException): string =>
  `${address}:${port} ${bindProblems[code] ?? `cannot be listened on (${code})`}`;

async function listenAt(parts: Parts, cluster: Cluster, listeners: ServiceListeners, port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
  const accept = (client: Socket) => acceptClient(parts, cluster, listeners, port, client);
  server.on(
    'connection',
    guarded('clusters.balancer.connection', ([client]) => client, accept),
  );
  const { uid, address } = listeners.service;
  await parts.sockets.listen(server, { cluster: cluster.id, uid, host: address, port });
  const fail = (error: Error) => parts.log.warn({ err: error, cluster: cluster.id }, 'a listener of a load balancer failed');
  server.on('error', guarded('clusters.balancer.error', undefined, fail));
  return server;
}

/** Counts a connection. Beyond a limit, or from an address that may not connect, it is reset. */
function acceptClient(parts: Parts, cluster: Cluster, listeners: ServiceListeners, port: number, client: Socket): void {
  const { counts, maxConnections: max } = cluster;
  client.on('error', () => {}); // close follows
  const address = addressOfPeer(client);
  const ofAddress = counts.byAddress.get(address) ?? 0;
  const isRefused = !listeners.isAllowed(address) || counts.connections >= max || ofAddress >= Math.ceil(max * addressShare);
  const release = isRefused ? undefined : parts.admit.acquire(cluster.org);
  if (!release) return void client.resetAndDestroy();
  counts.connections++;
  counts.byAddress.set(address, ofAddress + 1);
  let isCounted = true;
  const leave = () => {
    if (!isCounted) return;
    isCounted = false;
    release();
    counts.connections--;
    const left = counts.byAddress.get(address)! - 1;
    if (left > 0) counts.byAddress.set(address, left);
    else counts.byAddress.delete(address);
  };
  listeners.waiting.add(client);
  client.once(
    'close',
    guarded('clusters.balancer.gone', client, () => {
      // A connection that is joined is counted until its other half is closed too.
      if (listeners.waiting.delete(client)) leave();
    }),
  );
  parts.enqueue(cluster.org, () => void joinNode(parts, cluster, listeners, port, client, leave));
}

/** Never rejects. */
async function joinNode(
  { dial }: Parts,
  cluster: Cluster,
  listeners: ServiceListeners,
  port: number,
  client: Socket,
  leave: () => void,
): Promise<void> {
  const { health, service, waiting, relays } = listeners;
  const { counts } = cluster;
  const gone = new AbortController();
  const abort = () => gone.abort();
  client.once('close', abort);
  const nodePort = service.ports.find((each) => each.port === port)?.nodePort;
  for (const node of nodePort === undefined ? [] : health.order(nodePort).slice(0, connect.attempts)) {
    if (client.destroyed) return;
    try {
      const options = { connectMs: connect.timeoutMs, signal: gone.signal };
      const socket = await dial(cluster, node, nodePort!, options);
      if (client.destroyed) return void socket.destroy();
      waiting.delete(client);
      client.off('close', abort); // to abort costs more than to join
      const header = service.proxyProtocol && headerFor(service.proxyProtocol, client, { address: service.address, port });
      const relay = startRelay(client, socket, header, () => {
        relays.delete(relay);
        counts.bytesIn += relay.bytesIn();
        counts.bytesOut += relay.bytesOut();
        leave();
      });
      relays.add(relay);
      return;
    } catch (error) {
      if (gone.signal.aborted) return;
      health.reportFailure(node, nodePort!, (error as Error).message);
    }
  }
  client.resetAndDestroy();
}

const headerFor = (version: ProxyProtocol, client: Socket, server: ConnectionEnd): Buffer =>
  proxyHeader(version, { address: addressOfPeer(client), port: client.remotePort ?? 0 }, server);

function cutConnections({ relays, waiting }: ServiceListeners): void {
  for (const client of waiting) client.destroy();
  for (const relay of relays) relay.destroy();
}

async function closeService({ sockets }: Parts, listeners: ServiceListeners): Promise<void> {
  listeners.health.stop();
  const closed = [...listeners.servers.values()].map((server) => {
    const isClosed = new Promise<void>((resolve) => (server.listening ? server.once('close', () => resolve()) : resolve()));
    sockets.close(server);
    return isClosed;
  });
  cutConnections(listeners);
  await Promise.all(closed);
}
