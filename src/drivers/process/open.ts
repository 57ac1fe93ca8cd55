import type { App } from '../../kernel/app.ts';
import { guarded } from '../../kernel/faults/guarded.ts';
import type { ControlPlane, PlaneOptions, Prepare } from '../driver.ts';
import type { Pki } from '../keys.ts';
import { askCluster, type Dial, watchCluster } from './clients/ask.ts';
import { dialEndpoint, dialServer, makeEndpointAgent } from './clients/dial.ts';
import { removeOtherKeyFiles, returnToDataOwner } from './clients/directory.ts';
import { stopAll } from './clients/programs.ts';
import { returnStoreToDataOwner } from './clients/store-directory.ts';
import { applyPlane, freezePlane } from './engine/apply.ts';
import { makeCapacity } from './engine/capacity.ts';
import { closeEtcd } from './engine/etcd/generation.ts';
import { snapshotEtcd } from './engine/etcd/snapshot.ts';
import { describeFullStore } from './engine/etcd/upkeep.ts';
import { firstNodeJoined, listPrograms, programsOf, runHealthLoop } from './engine/health-loop.ts';
import { snapshotKine } from './engine/kine-store.ts';
import { probeReady } from './engine/readiness.ts';
import { makeRequestGate } from './engine/request-gate.ts';
import type { ProcessPlane } from './engine/state.ts';
import { measureStore, servedStore } from './engine/store-size.ts';
import { type InflightRequest, makeTargetPool } from './engine/target-pool.ts';
import { forwardRequest } from './planes/forward.ts';
import { forwardUpgrade } from './planes/upgrade.ts';

/** Opens a plane for a check of a backup, which starts programs by itself. */
export const openCheckPlane = (app: App, parts: PlaneOptions): ProcessPlane => makePlane(app, parts);

function makePlane(app: App, parts: PlaneOptions): ProcessPlane {
  const pool = makeTargetPool(async (target) => {
    const { isReady } = await probeReady(target, 5_000, plane.stopping.signal);
    if (!isReady) plane.checkSoon(); // it may have exited; the health loop checks at once
    return isReady;
  });
  const dial: Dial = (dialed) => {
    const target = pool.next();
    if (!target) return undefined;
    const asked = dialServer(target, dialed);
    const inflight: InflightRequest = { isLongRunning: dialed.path.includes('watch=1'), abort: () => asked.destroy() };
    asked.once('close', guarded('clusters.process.close', asked, pool.begin(target, inflight)));
    asked.once(
      'error',
      guarded('clusters.process.error', asked, () => pool.reportFailure(target, false)),
    );
    return asked;
  };
  const gate = makeRequestGate();
  // etcd has a quota of its own.
  const isOnKine = () => parts.cluster().store === 'kine';
  const plane: ProcessPlane = {
    app,
    parts,
    pool,
    dial,
    ask: async (method, path, body) => {
      // While its store is being moved, what we write waits as callers' writes do.
      if (method !== 'GET') await gate.pass();
      return askCluster(dial, method, path, body);
    },
    directory: undefined,
    keysDir: undefined,
    kine: undefined,
    servedGeneration: undefined,
    etcd: undefined,
    formerEtcds: [],
    reviving: undefined,
    memberEnded: () => {},
    freeze: () => freezePlane(plane),
    unfreeze: () => {},
    gate,
    servers: [],
    draining: new Set(),
    controllers: new Map(),
    backoffs: new Map(),
    restarts: new Map(),
    cpu: new Map(),
    hasNodes: false,
    egress: undefined,
    cgroup: undefined,
    oomKillCount: 0,
    oomKills: new Map(),
    problem: undefined,
    figures: { objects: 0, bytes: 0, components: [] },
    applyCount: 0,
    applying: undefined,
    forwarding: {
      pool,
      isRefused: parts.isRefused,
      ending: app.ending,
      maxInflight: () => parts.limits().inflight,
      inflight: 0,
      figures: { requests: 0, errors: 0, inflightPeak: 0 },
      capacity: makeCapacity(
        () => (isOnKine() ? parts.limits().datastoreBytes : Number.POSITIVE_INFINITY),
        async (last) => (isOnKine() ? measureStore(app, servedStore(plane), last) : { bytes: 0, last: 0 }),
      ),
      gate,
    },
    checkSoon: () => {},
    stopping: new AbortController(),
  };
  return plane;
}

/** Opens a cluster's plane to serve it. Its programs start with the first `apply`. */
export function openPlane(app: App, parts: PlaneOptions): ControlPlane {
  const plane = makePlane(app, parts);
  const { forwarding, stopping } = plane;
  const healthLoop = runHealthLoop(plane, parts.wakeShard);
  return {
    apply: (pki, prepare) => applyExclusively(plane, pki, prepare),
    problem: () => (plane.problem === undefined ? undefined : { why: plane.problem, isAway: plane.problem !== firstNodeJoined }),
    fullness: () => describeFullStore(plane),
    hasControllers: true,
    serve: (request, response, identity) => forwardRequest(forwarding, request, response, identity),
    upgrade: (request, socket, head, identity) => forwardUpgrade(forwarding, request, socket, head, identity),
    ask: plane.ask,
    watch: (path, onEvent) => watchUntil(plane.dial, path, onEvent, stopping.signal),
    figures: () => {
      const { figures } = forwarding;
      const seen = { ...figures, ...plane.figures };
      figures.inflightPeak = forwarding.inflight;
      return seen;
    },
    snapshot: () => (plane.etcd ? snapshotEtcd(plane.etcd) : snapshotKine(app, servedStore(plane))),
    programs: () => listPrograms(plane),
    async stop() {
      await stopServing(plane, healthLoop);
      if (plane.directory) await stopAll(plane.directory.dir, programsOf(plane));
      await Promise.all(plane.draining);
      if (plane.directory) await removeOtherKeyFiles(plane.directory, undefined);
      await closeTargets(plane);
      if (plane.directory) await returnToDataOwner(plane.directory.dir);
      if (plane.etcd) await returnStoreToDataOwner(app.config.data, parts.cluster().id);
    },
    async leave() {
      await stopServing(plane, healthLoop);
      await closeTargets(plane);
    },
  };
}

async function stopServing(plane: ProcessPlane, healthLoop: Promise<void>): Promise<void> {
  plane.stopping.abort();
  await Promise.all([healthLoop, plane.applying?.catch(() => {}), plane.reviving]);
  for (const each of [...plane.formerEtcds, ...(plane.etcd ? [plane.etcd] : [])]) closeEtcd(each);
  plane.pool.switchTo([]);
}

async function closeTargets({ pool, servers, egress }: ProcessPlane): Promise<void> {
  for (const { target } of servers) pool.close(target);
  await egress?.stop();
}

/** One apply at a time. `stop` waits for a running apply, which aborts soon, and then stops every program that it started. */
function applyExclusively(plane: ProcessPlane, pki: Pki, prepare: Prepare): Promise<void> {
  const applying = applyPlane(plane, pki, prepare).finally(() => {
    plane.unfreeze();
    plane.applyCount++;
    plane.applying = undefined;
  });
  plane.applying = applying;
  return applying;
}

function watchUntil(dial: Dial, path: string, onEvent: Parameters<ControlPlane['watch']>[1], stopped: AbortSignal): () => void {
  const own = new AbortController();
  void watchCluster(dial, path, onEvent, AbortSignal.any([own.signal, stopped]));
  return () => own.abort();
}

/** For a process that does not serve the cluster: calls its endpoint over the network, like any client. */
export function openEndpointClient(parts: PlaneOptions): ControlPlane {
  const { inner, caCertificate } = parts.pki;
  if (!inner) throw new Error('the cluster has no keys for programs');
  const agent = makeEndpointAgent(inner, caCertificate);
  const dial: Dial = (dialed) => dialEndpoint(parts.endpoint, agent, dialed);
  const stopping = new AbortController();
  const refuse = () => {
    throw new Error('this process does not serve the cluster');
  };
  return {
    apply: async () => {},
    problem: () => undefined,
    hasControllers: true,
    serve: refuse,
    upgrade: refuse,
    ask: (method, path, body) => askCluster(dial, method, path, body),
    watch: (path, onEvent) => watchUntil(dial, path, onEvent, stopping.signal),
    figures: () => ({ requests: 0, errors: 0, inflightPeak: 0, objects: 0, bytes: 0, components: [] }),
    programs: async () => [],
    async stop() {
      stopping.abort();
      agent.destroy();
    },
  };
}
