// A balancer program: accepts the connections of load balancers and passes their bytes, beside a server whose event loop they would take.
// It knows what its server tells it, and ends with it.
import type { Server } from 'node:net';
import { observeFaults } from '../../../../kernel/faults/faults.ts';
import { type Guard, makeGuard, parseAllow } from '../../../../kernel/guard/index.ts';
import {
  acceptBacklog,
  handleOf,
  ownSockets,
  type SocketHandle,
  stopAccepting,
  untilListening,
} from '../../../../kernel/lifecycle/listening-sockets.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { makeDialers } from '../../clients/mesh/dialers.ts';
import type { BalancedMesh, ServingProblems } from '../../engine/balancer/listener.ts';
import { isInMesh } from '../../rules/mesh/network.ts';
import {
  type FromProgram,
  type ProgramSettings,
  type Request,
  type ServedCluster,
  type SocketAt,
  settingsVariable,
  type ToProgram,
} from './channel.ts';
import { type DialNode, makeServices, type ServiceSockets } from './services.ts';

/** The server's figures are at most this old. */
const figuresMs = 500;

const settings = JSON.parse(process.env[settingsVariable]!) as ProgramSettings;
const log = makeLog(settings.logLevel);
observeFaults(({ error, name }) => log.error({ err: error, handler: name }, 'an unforeseen exception in a handler'));

/** What cannot be sent is for a server that is gone, or tells of a socket that was closed before its turn came. */
const say = (message: FromProgram, handle?: unknown) => void process.send?.(message, handle as never, {}, () => {});

/** Questions for a listening socket, by id. */
const asked = new Map<number, (handle: SocketHandle | undefined) => void>();
let lastId = 0;

const addresses = new WeakMap<Server, SocketAt>();

/** The server keeps a copy of each socket: connections wait there while this program is started again, or the server replaced. */
const sockets: ServiceSockets = {
  async listen(server, at) {
    const open = await new Promise<SocketHandle | undefined>((resolve) => {
      asked.set(++lastId, resolve);
      say({ type: 'ask socket', id: lastId, at });
    });
    if (open) {
      server.listen(open, acceptBacklog);
      await untilListening(server);
    } else {
      await ownSockets.listen(server, `load balancer ${at.cluster}`, at);
      say({ type: 'opened', at }, handleOf(server));
    }
    addresses.set(server, at);
  },
  close(server) {
    const at = addresses.get(server);
    if (!server.listening || !at) return;
    stopAccepting(server);
    say({ type: 'released', at });
  },
};

const guard = makeGuard({ allow: parseAllow(settings.allowPrivateCidrs) });

const dialers = makeDialers(log);
/** Of each cluster, for its network and namespace. */
const meshGuards = new WeakMap<ServedCluster, { mesh: BalancedMesh; guard: Guard }>();

/** By cluster: where a dialer may run. */
const namespaces = new Map<string, string>();

function meshGuardOf(cluster: ServedCluster, mesh: BalancedMesh): Guard {
  const known = meshGuards.get(cluster);
  if (known?.mesh.network === mesh.network && known.mesh.namespace === mesh.namespace) return known.guard;
  const inside = makeGuard({
    allow: parseAllow(`node=${mesh.network}`),
    connector: async ({ address, port }, signal) => {
      if (!cluster.mesh?.addresses.includes(address))
        throw Object.assign(new Error('no node of the mesh has this address'), { code: 'EHOSTUNREACH' });
      namespaces.set(cluster.id, mesh.namespace);
      return dialers.connect(mesh.namespace, { address, port }, signal).catch((error) => {
        // A dialer stays in a namespace that was made anew.
        if (error.code === 'ENETUNREACH') dialers.end(mesh.namespace);
        throw error;
      });
    },
  });
  meshGuards.set(cluster, { mesh, guard: inside });
  return inside;
}

/** The namespace may be made anew under the same name. */
function endDialer(cluster: string): void {
  const namespace = namespaces.get(cluster);
  namespaces.delete(cluster);
  if (namespace !== undefined) dialers.end(namespace);
}

const dial: DialNode = async (cluster, { address }, port, options) => {
  const { mesh } = cluster;
  const by = mesh && isInMesh(mesh.network, address) ? meshGuardOf(cluster, mesh) : guard;
  return (await by.connectTcp('node', address, port, options)).socket;
};

const services = makeServices({ log, sockets, dial });

/** The last request of each cluster: they are carried out one after the other. */
const turns = new Map<string, Promise<unknown>>();

async function inTurn(request: Request): Promise<ServingProblems | undefined> {
  if (request.act === 'drain') return act(request);
  const cluster = typeof request.cluster === 'string' ? request.cluster : request.cluster.id;
  const done = (turns.get(cluster) ?? Promise.resolve()).then(() => act(request));
  const settled = done.then(
    () => {},
    () => {},
  );
  turns.set(cluster, settled);
  void settled.then(() => turns.get(cluster) === settled && turns.delete(cluster));
  return done;
}

async function act(request: Request): Promise<ServingProblems | undefined> {
  if (request.act === 'serve') return services.serve(request.cluster, request.service);
  if (request.act === 'set nodes') services.setNodes(request.cluster, request.uid, request.nodes);
  else if (request.act === 'close') await services.close(request.cluster, request.uid);
  else if (request.act === 'close all') {
    await services.closeAll(request.cluster);
    endDialer(request.cluster);
  } else await services.drain(request.limitMs);
  return undefined;
}

let told = '';
function tellFigures(): void {
  const clusters = [...services.figures()];
  const telling = JSON.stringify(clusters);
  if (telling !== told) say({ type: 'figures', clusters });
  told = telling;
}

process.on('message', (message: ToProgram, handle: unknown) => {
  if (message.type === 'request') {
    const { id, request } = message;
    inTurn(request).then(
      (problems) => {
        tellFigures();
        say({ type: 'answer', id, ...(problems ? { problems } : {}) });
      },
      (error: Error) => say({ type: 'answer', id, error: error.message }),
    );
    return;
  }
  asked.get(message.id)?.(handle as SocketHandle | undefined);
  asked.delete(message.id);
});
process.on('disconnect', () => process.exit());
// A terminal sends these to the whole group; the server decides when this program ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGUSR2'] as const) process.on(signal, () => {});
setInterval(tellFigures, figuresMs);
