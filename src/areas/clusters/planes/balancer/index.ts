import { createServer, type Server, type Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { App } from '../../../../kernel/app.ts';
import { makeKeyedLimit, RoundRobinQueue, runFor } from '../../../../kernel/fairness/index.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { addressOfPeer } from '../../../../kernel/http/peer.ts';
import type { BalancedCluster, Balancers, ClusterBalancer, ServedService } from '../../engine/balancer/listener.ts';
import { makeSourceFilter } from '../../rules/load-balancer.ts';
import { proxyHeader } from '../../rules/proxy-header.ts';
import { makeNodeHealth, type NodeHealth } from './health.ts';
import { type Relay, startRelay } from './relay.ts';

// TCP listeners of load balancers. A connection is counted before anything is read from it, waits its organization's turn, and is joined with
// one to a node's port. Nothing of the client is read before that, so up to three nodes can be tried without the client's notice.

/** Over all clusters of this process; one organization has at most half. */
const maxConnections = { each: 10_000, all: 20_000 };
/** The share of a cluster's connections that one client address may have. */
const addressShare = 1 / 4;
const connect = { timeoutMs: 5_000, attempts: 3 };
/** Connections that are begun in one turn of the event loop, round-robin by organization; one while the loop is busy. */
const startsPerTurn = 8;
const acceptPollMs = 20;

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

interface Counts {
  bytesIn: number;
  bytesOut: number;
  connections: number;
  byAddress: Map<string, number>;
}

interface BalancerParts {
  app: Pick<App, 'log' | 'watch' | 'sockets'>;
  admit: ReturnType<typeof makeKeyedLimit>;
  /** Begins connections in turns. */
  enqueue(org: string, start: () => void): void;
  open: Set<ServiceListeners>;
  /** From then on no listener is opened. */
  isDraining: boolean;
}

export function makeBalancers(app: BalancerParts['app']): Balancers {
  const admit = makeKeyedLimit(maxConnections);
  const open: BalancerParts['open'] = new Set();
  const parts: BalancerParts = { app, admit, enqueue: makeTurns(app.watch.isBusy), open, isDraining: false };
  return {
    open: (cluster) => openCluster(parts, cluster),
    connections: admit.size,
    async drain(limitMs) {
      parts.isDraining = true;
      for (const { servers } of open) for (const server of servers.values()) app.sockets.close(server);
      const until = performance.now() + limitMs;
      while ([...open].some(({ relays, waiting }) => relays.size + waiting.size > 0) && performance.now() < until)
        await new Promise((resolve) => setTimeout(resolve, acceptPollMs));
      for (const each of open) cutConnections(each);
    },
  };
}

function makeTurns(isBusy: () => boolean): BalancerParts['enqueue'] {
  const queue = new RoundRobinQueue<() => void>();
  let isScheduled = false;
  const begin = () => {
    isScheduled = false;
    for (let n = isBusy() ? 1 : startsPerTurn; n > 0; n--) queue.next()?.();
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

function openCluster(parts: BalancerParts, cluster: BalancedCluster): ClusterBalancer {
  const services = new Map<string, ServiceListeners>();
  const counts: Counts = { bytesIn: 0, bytesOut: 0, connections: 0, byAddress: new Map() };
  let isClosed = false;
  const close = async (uid: string) => {
    const found = services.get(uid);
    if (!found) return;
    services.delete(uid);
    await closeService(parts, found);
  };
  return {
    async serve(service) {
      if (isClosed || parts.isDraining) return {};
      const found = services.get(service.uid);
      if (found && found.service.address !== service.address) await close(service.uid);
      const listeners = services.get(service.uid) ?? newListeners(parts, cluster, service);
      services.set(service.uid, listeners);
      listeners.service = service;
      listeners.isAllowed = makeSourceFilter(service.sourceRanges);
      const bind = await matchPorts(parts, cluster, listeners, counts);
      if (isClosed || parts.isDraining) await closeService(parts, listeners); // meanwhile
      return { bind, nodes: listeners.health.problem() };
    },
    setNodes(uid, nodes) {
      const found = services.get(uid);
      if (found) found.service = { ...found.service, nodes };
    },
    close,
    figures() {
      let { bytesIn, bytesOut } = counts;
      for (const { relays } of services.values())
        for (const relay of relays) {
          bytesIn += relay.bytesIn();
          bytesOut += relay.bytesOut();
        }
      return { bytesIn, bytesOut, connections: counts.connections };
    },
    async closeAll() {
      isClosed = true;
      await Promise.all([...services.keys()].map(close));
    },
  };
}

function newListeners({ open }: BalancerParts, { guardOf }: BalancedCluster, service: ServedService): ServiceListeners {
  const listeners: ServiceListeners = {
    service,
    isAllowed: () => true,
    health: makeNodeHealth(
      guardOf,
      () => listeners.service.nodes,
      () => listeners.service.ports.map(({ nodePort }) => nodePort),
    ),
    servers: new Map(),
    relays: new Set(),
    waiting: new Set(),
  };
  open.add(listeners);
  return listeners;
}

/** Opens the ports that are new and closes those that are gone. Returns why a port does not accept connections. */
async function matchPorts(
  parts: BalancerParts,
  cluster: BalancedCluster,
  listeners: ServiceListeners,
  counts: Counts,
): Promise<string | undefined> {
  const { service, servers } = listeners;
  const wanted = new Set(service.ports.map(({ port }) => port));
  for (const [port, server] of servers)
    if (!wanted.has(port)) {
      servers.delete(port);
      parts.app.sockets.close(server);
    }
  if (isOwnAddress(service.address)) return `${service.address} is an address of the server’s own interfaces`;
  for (const port of wanted) {
    if (servers.has(port)) continue;
    try {
      servers.set(port, await listenAt(parts, cluster, listeners, port, counts));
    } catch (error) {
      return explainBind(service.address, port, error as NodeJS.ErrnoException);
    }
  }
  return undefined;
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

async function listenAt(
  parts: BalancerParts,
  cluster: BalancedCluster,
  listeners: ServiceListeners,
  port: number,
  counts: Counts,
): Promise<Server> {
  const { app } = parts;
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
  const accept = (client: Socket) => acceptClient(parts, cluster, listeners, port, counts, client);
  server.on(
    'connection',
    guarded('clusters.balancer.connection', ([client]) => client, accept),
  );
  const { uid, address } = listeners.service;
  await app.sockets.listen(server, `load balancer ${cluster.id} ${uid} ${port}`, { host: address, port });
  const fail = (error: Error) => app.log.warn({ err: error, cluster: cluster.id }, 'a listener of a load balancer failed');
  server.on('error', guarded('clusters.balancer.error', undefined, fail));
  return server;
}

/** Counts a connection. Beyond a limit, or from an address that may not connect, it is reset. */
function acceptClient(
  parts: BalancerParts,
  cluster: BalancedCluster,
  listeners: ServiceListeners,
  port: number,
  counts: Counts,
  client: Socket,
): void {
  client.on('error', () => {}); // close follows
  const address = addressOfPeer(client);
  const max = cluster.maxConnections();
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
  const start = () =>
    runFor(
      { org: cluster.org, operation: 'clusters.balancer' },
      () => void joinNode(cluster, listeners, port, counts, client, leave),
      parts.app.watch,
    );
  parts.enqueue(cluster.org, start);
}

/** Never rejects. */
async function joinNode(
  { guardOf }: BalancedCluster,
  listeners: ServiceListeners,
  port: number,
  counts: Counts,
  client: Socket,
  leave: () => void,
): Promise<void> {
  const { health, service, waiting, relays } = listeners;
  const gone = new AbortController();
  const abort = () => gone.abort();
  client.once('close', abort);
  const nodePort = service.ports.find((each) => each.port === port)?.nodePort;
  for (const node of nodePort === undefined ? [] : health.order(nodePort).slice(0, connect.attempts)) {
    if (client.destroyed) return;
    try {
      const options = { connectMs: connect.timeoutMs, signal: gone.signal };
      const { socket } = await guardOf(node.address).connectTcp('node', node.address, nodePort!, options);
      if (client.destroyed) return void socket.destroy();
      waiting.delete(client);
      client.off('close', abort); // to abort costs more than to join
      const ends = {
        client: { address: addressOfPeer(client), port: client.remotePort ?? 0 },
        server: { address: service.address, port },
      };
      const header = service.proxyProtocol && proxyHeader(service.proxyProtocol, ends.client, ends.server);
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

function cutConnections({ relays, waiting }: ServiceListeners): void {
  for (const client of waiting) client.destroy();
  for (const relay of relays) relay.destroy();
}

async function closeService({ app, open }: BalancerParts, listeners: ServiceListeners): Promise<void> {
  open.delete(listeners);
  listeners.health.stop();
  const closed = [...listeners.servers.values()].map((server) => {
    const isClosed = new Promise<void>((resolve) => (server.listening ? server.once('close', () => resolve()) : resolve()));
    app.sockets.close(server);
    return isClosed;
  });
  cutConnections(listeners);
  await Promise.all(closed);
}
