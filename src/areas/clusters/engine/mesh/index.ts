import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../../kernel/app.ts';
import { isUnavailable } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { type Guard, makeGuard, parseAllow } from '../../../../kernel/guard/index.ts';
import { clockMoved, hint } from '../../../../kernel/jobs/index.ts';
import { makeInterruptibleSleep } from '../../../../kernel/jobs/interruptible-sleep.ts';
import { wallClock } from '../../../../kernel/wall-clock.ts';
import { MeshError, type MeshHost } from '../../clients/mesh/types.ts';
import { controlPlaneAddress, isInMesh, meshBits } from '../../rules/mesh/network.ts';
import { hubConfig, type MeshNode, type MeshView, viewOf } from '../../rules/mesh/peers.ts';
import type { ClusterRow } from '../../store/clusters.ts';
import * as store from '../../store/mesh.ts';
import type { HeldLease } from '../../store/shards.ts';
import type { BalancedMesh } from '../balancer/listener.ts';
import { meshDue } from '../channels.ts';
import { clusterAddressOf, meshEndpointOf } from '../cluster-address.ts';
import { nodesInMesh } from './admit.ts';
import { ensureMesh, type ProvisionedMesh } from './provision.ts';

// The mesh of one cluster, at the server that holds its lease. A pass compares the rows with the interface and brings the interface to them; it runs
// when nodes have changed, and every few seconds. Nodes that wait for news of their peers are answered after it.

const intervalMs = 10_000;
const retryMs = 5_000;
/** Several nodes that change at once share a pass; a node that changes all the time causes no more than two in a second. */
const settleMs = 100;
const minBetweenMs = 500;
/** How long a node waits for news. */
const followMs = 25_000;
/** How long a stop waits for a pass under way. */
const stopMs = 5_000;
/** A peer with a handshake within this time is reached: WireGuard makes a new one after two minutes of traffic. */
const reachedSeconds = 180;

export interface MeshFigures {
  peers: number;
  reached: number;
  received: number;
  sent: number;
}

export interface RunningMesh {
  /** The rows have changed. */
  poke(): void;
  /** Reaches addresses of this mesh, from inside; undefined: the host is none of them. */
  guardOf(host: string): Guard | undefined;
  /** From where, and to which addresses, connections are made inside it; undefined: not known yet. */
  inside(): BalancedMesh | undefined;
  /** The node's view once it is another one than `revision`; undefined: there was no news in time. */
  follow(node: string, revision: string, signal: AbortSignal): Promise<MeshView | undefined>;
  /** Undefined: there is no mesh. */
  figures(): MeshFigures | undefined;
  /** `isHandOver`: the interface stays for the next server of this data directory. */
  stop(options?: { isHandOver?: boolean }): Promise<void>;
}

/** The cluster at whose listener a node asks for its peers. */
export interface AskedCluster {
  id: string;
  org: string;
  mesh: RunningMesh | undefined;
}

export interface MeshParts {
  app: App;
  host: MeshHost;
  cluster: () => ClusterRow;
  held: HeldLease;
  /** What `inside` tells has changed. */
  onChange(): void;
}

interface MeshState extends MeshParts {
  mesh: ProvisionedMesh | undefined;
  nodes: MeshNode[];
  /** Why the interface is not there; null: it is. Undefined: not known yet. */
  problem: string | null | undefined;
  /** The configuration that the interface has. */
  applied: string | undefined;
  figures: MeshFigures | undefined;
  guard: Guard | undefined;
  /** Nodes that wait for news; one request each. */
  waiting: Map<string, () => void>;
}

export function startMesh(parts: MeshParts): RunningMesh {
  const { app, cluster, held } = parts;
  const state: MeshState = {
    ...parts,
    mesh: undefined,
    nodes: [],
    problem: undefined,
    applied: undefined,
    figures: undefined,
    guard: undefined,
    waiting: new Map(),
  };
  const nudge = makeInterruptibleSleep();
  let stopped = false;
  const inside = (): BalancedMesh | undefined =>
    state.mesh && {
      network: state.mesh.network,
      namespace: state.host.namespaceOf(held.id),
      addresses: state.problem === null ? state.nodes.map(({ address }) => address) : [],
    };
  let told = '';
  const tellChange = () => {
    const now = JSON.stringify(inside());
    if (now !== told) parts.onChange();
    told = now;
  };
  const endHearing = [meshDue(cluster().id), clockMoved].map((channel) => app.waker.subscribe(channel, nudge.wake));
  const loop = (async () => {
    while (!stopped) {
      let hasFailed = false;
      const began = performance.now();
      await runFor({ org: cluster().org_id, operation: 'clusters.mesh' }, () => pass(state), app.watch).catch((error) => {
        hasFailed = true;
        if (!isUnavailable(error) && !stopped) app.log.warn({ err: error, cluster: cluster().id }, 'a mesh could not be looked after');
      });
      for (const tell of state.waiting.values()) tell();
      if (stopped) break;
      tellChange();
      await nudge.sleep(hasFailed || state.problem ? retryMs : intervalMs);
      if (!stopped) await sleep(Math.max(settleMs, began + minBetweenMs - performance.now()));
    }
  })();
  return {
    poke: nudge.wake,
    guardOf: (host) => (state.mesh && isInMesh(state.mesh.network, host) ? state.guard : undefined),
    inside,
    follow: (node, revision, signal) => follow(state, node, revision, signal, () => stopped),
    figures: () => state.figures,
    async stop({ isHandOver = false } = {}) {
      stopped = true;
      for (const end of endHearing) end();
      nudge.wake();
      await Promise.race([loop, sleep(stopMs, undefined, { ref: false })]);
      if (!isHandOver && state.mesh) await state.host.remove(cluster().id);
    },
  };
}

async function pass(state: MeshState): Promise<void> {
  const { app, host, cluster, held } = state;
  const mesh = await ensureMesh(app, held);
  if (!mesh) return;
  if (mesh.network !== state.mesh?.network) state.guard = makeMeshGuard(state, mesh.network);
  state.mesh = mesh;
  const rows = await app.db.read((tx) => store.peersOf(tx, held.id));
  state.nodes = nodesInMesh(rows);
  const config = hubConfig(mesh, state.nodes);
  try {
    const isThere = state.applied !== undefined && (await host.peers(held.id)) !== undefined;
    if (!isThere || state.applied !== config)
      await host.apply({
        cluster: held.id,
        address: `${controlPlaneAddress(mesh.network)}/${meshBits}`,
        port: mesh.port,
        config,
      });
    state.applied = config;
    await noteProblem(state, null);
    await noteSeen(state);
  } catch (error) {
    if (!(error instanceof MeshError)) throw error;
    state.applied = undefined;
    state.figures = { peers: state.nodes.length, reached: 0, received: 0, sent: 0 };
    if (state.problem !== error.message) app.log.warn({ err: error, cluster: cluster().id }, 'the interface of a mesh is not there');
    await noteProblem(state, error.message);
  }
}

/** Nodes join without the mesh while there is a problem. */
async function noteProblem(state: MeshState, problem: string | null): Promise<void> {
  const { app, cluster, held } = state;
  if (state.problem === problem) return;
  await app.db.write(async (tx) => {
    if ((await store.noteMeshProblem(tx, held, problem)) > 0) hint(tx, cluster().org_id, 'clusters.cluster');
  });
  state.problem = problem;
}

/** Where the interface sees each node: the others try to reach it there directly. */
async function noteSeen(state: MeshState): Promise<void> {
  const { app, host, held, nodes } = state;
  const seen = (await host.peers(held.id)) ?? [];
  const now = wallClock().getTime() / 1_000; // the kernel's clock, as the handshakes are told by it
  state.figures = {
    peers: nodes.length,
    reached: seen.filter(({ handshakeAt }) => now - handshakeAt < reachedSeconds).length,
    received: seen.reduce((sum, { received }) => sum + received, 0),
    sent: seen.reduce((sum, { sent }) => sum + sent, 0),
  };
  const endpoints = new Map(seen.flatMap(({ publicKey, endpoint }) => (endpoint ? [[publicKey, endpoint] as const] : [])));
  const changed = new Map([...endpoints].filter(([key, at]) => nodes.some((each) => each.publicKey === key && each.endpoint !== at)));
  if (changed.size === 0) return;
  await app.db.write((tx) => store.noteEndpoints(tx, held.id, changed));
  state.nodes = nodes.map((each) => ({ ...each, endpoint: changed.get(each.publicKey) ?? each.endpoint }));
}

/** Each connection is made inside the mesh, and to addresses of nodes that are in it alone. */
function makeMeshGuard(state: MeshState, network: string): Guard {
  return makeGuard({
    allow: parseAllow(`node=${network}`),
    connector: async ({ address, port }, signal) => {
      if (state.problem !== null || !state.nodes.some((each) => each.address === address))
        throw Object.assign(new Error('no node of the mesh has this address'), { code: 'EHOSTUNREACH' });
      return state.host.connect(state.held.id, { address, port }, signal);
    },
  });
}

function viewNow({ app, cluster, mesh, nodes }: MeshState, node: string): MeshView | undefined {
  if (!mesh) return undefined;
  const endpoint = meshEndpointOf(clusterAddressOf(app, cluster()), mesh.port);
  return viewOf(node, { network: mesh.network, publicKey: mesh.publicKey, endpoint }, nodes);
}

async function follow(
  state: MeshState,
  node: string,
  revision: string,
  signal: AbortSignal,
  isStopped: () => boolean,
): Promise<MeshView | undefined> {
  const until = performance.now() + followMs;
  const { waiting } = state;
  waiting.get(node)?.(); // an older request of the same node looks again, and finds that it was replaced
  let isReplaced = false;
  for (;;) {
    const view = viewNow(state, node);
    if (view && view.revision !== revision) return view;
    const leftMs = until - performance.now();
    if (isReplaced || leftMs <= 0 || signal.aborted || state.app.ending.aborted || isStopped()) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    const tell = () => resolve();
    waiting.set(node, tell);
    const timer = setTimeout(tell, leftMs);
    signal.addEventListener('abort', tell, { once: true });
    state.app.ending.addEventListener('abort', tell, { once: true });
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', tell);
    state.app.ending.removeEventListener('abort', tell);
    if (waiting.get(node) === tell) waiting.delete(node);
    else isReplaced = true;
  }
}
