import type { App } from '../../../../kernel/app.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { askCluster, type Dial, watchCluster } from '../../clients/process/ask.ts';
import { detectedCgroups, isAllowed } from '../../clients/process/cgroup.ts';
import { dialEndpoint, dialServer, makeEndpointAgent } from '../../clients/process/dial.ts';
import { removeDirectory, removeOtherKeyFiles, returnToDataOwner, runDir } from '../../clients/process/directory.ts';
import { stopAll } from '../../clients/process/programs.ts';
import { tierOf } from '../../rules/tiers.ts';
import { closeRole, dropSchema, endSessions } from '../../store/kine.ts';
import { clustersDue } from '../channels.ts';
import type { Pki } from '../pki.ts';
import type { ControlPlane, Driver, PlaneOptions, Prepare } from '../types.ts';
import { applyPlane } from './apply.ts';
import { makeCapacity } from './capacity.ts';
import { forwardRequest } from './forward.ts';
import { firstNodeJoined, listPrograms, programsOf, runHealthLoop } from './health-loop.ts';
import { releaseDeadHolders, sweepOrphans } from './orphans.ts';
import { probeReady } from './readiness.ts';
import type { ProcessPlane } from './state.ts';
import { measureStore } from './store-size.ts';
import { type InflightRequest, makeTargetPool } from './target-pool.ts';
import { forwardUpgrade } from './upgrade.ts';

/**
 * The process driver: one cluster is kine, kube-apiserver, kube-controller-manager and kube-scheduler, run as programs beside this server.
 * docs/areas/clusters-process.md has the operator's view and the crash table.
 *
 * Actors.
 * - The shard (engine/shard) holds the cluster's lease and calls `apply` after every change of its row or keys, and when `problem()` says so.
 * - `apply.ts` compares the wanted programs (rules/process) with the records on disk and takes the missing steps; `ensure-program.ts` adopts,
 *   starts or replaces one program, with a backoff for programs that keep exiting.
 * - `health-loop.ts` checks every 2 s that programs run and apiservers are ready, and sets `plane.problem`, which wakes the shard.
 * - `forward.ts` and `upgrade.ts` send the front's requests to an apiserver of the pool (`target-pool.ts`); `capacity.ts` refuses writes to a
 *   full store, whose size `store-size.ts` measures.
 * - `orphans.ts` stops programs, and drops stores, of clusters that this server no longer holds.
 *
 * Flow of a change: keys and schema → kine → new apiservers start beside the old → all ready → pool switches → old ones drain and stop →
 * controllers restart → old keys are removed.
 *
 * What survives a crash. Each started program has a record file (pid, start time, port, hash of everything it was started with). Programs keep
 * running when the server dies; the next holder of the lease adopts those whose hash is still wanted and stops the others. A program without a
 * record is found by its working directory. All other state here (pool, backoffs, figures, capacity) is in memory and is rebuilt.
 */

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
  const plane: ProcessPlane = {
    ...{ app, parts, pool, dial, directory: undefined, keysDir: undefined, kine: undefined, servers: [], draining: new Set() },
    ...{
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
    },
    ask: (method, path, body) => askCluster(dial, method, path, body),
    ...{ figures: { objects: 0, bytes: 0, components: [] }, applyCount: 0, applying: undefined },
    forwarding: {
      ...{ pool, isRefused: parts.isRefused, maxInflight: () => tierOf(parts.cluster().tier).inflight, inflight: 0 },
      figures: { requests: 0, errors: 0, inflightPeak: 0 },
      capacity: makeCapacity(
        () => tierOf(parts.cluster().tier).datastoreBytes,
        (last) => measureStore(app, parts, last),
      ),
    },
    checkSoon: () => {},
    stopping: new AbortController(),
  };
  return plane;
}

function openPlane(app: App, parts: PlaneOptions): ControlPlane {
  const plane = makePlane(app, parts);
  const { forwarding, stopping } = plane;
  const healthLoop = runHealthLoop(plane, () => app.waker.wake(clustersDue));
  return {
    apply: (pki, prepare) => applyExclusively(plane, pki, prepare),
    problem: () => (plane.problem === undefined ? undefined : { why: plane.problem, isAway: plane.problem !== firstNodeJoined }),
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
    programs: () => listPrograms(plane),
    async stop() {
      stopping.abort();
      await Promise.all([healthLoop, plane.applying?.catch(() => {})]);
      plane.pool.switchTo([]);
      if (plane.directory) await stopAll(plane.directory.dir, programsOf(plane));
      await Promise.all(plane.draining);
      if (plane.directory) await removeOtherKeyFiles(plane.directory, undefined);
      for (const { target } of plane.servers) plane.pool.close(target);
      await plane.egress?.stop();
      if (plane.directory) await returnToDataOwner(plane.directory.dir);
    },
  };
}

/** One apply at a time. `stop` waits for a running apply, which aborts soon, and then stops every program that it started. */
function applyExclusively(plane: ProcessPlane, pki: Pki, prepare: Prepare): Promise<void> {
  const applying = applyPlane(plane, pki, prepare).finally(() => {
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
function openEndpointClient(parts: PlaneOptions): ControlPlane {
  const { inner, caCertificate } = parts.pki;
  if (!inner) throw new Error('the cluster has no keys for programs');
  const agent = makeEndpointAgent(inner, caCertificate);
  const dial: Dial = (dialed) => dialEndpoint(parts.endpoint, agent, dialed);
  const stopping = new AbortController();
  const refuse = () => {
    throw new Error('this process does not serve the cluster');
  };
  return {
    ...{ apply: async () => {}, problem: () => undefined, hasControllers: true, serve: refuse, upgrade: refuse },
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

export const processDriver: Driver = {
  open: openPlane,
  openClient: (_app, parts) => openEndpointClient(parts),
  async stopPrograms(app, cluster) {
    await stopAll(`${runDir(app.config.data)}/${cluster}`);
    // A session with a stolen password of the role may exist without any program of ours.
    await app.db.write((tx) => closeRole(tx, cluster));
    await app.db.read((tx) => endSessions(tx, cluster));
  },
  async dropObjects(tx, cluster) {
    await dropSchema(tx, cluster); // what cannot be dropped at once is logged and dropped by the sweep
  },
  async removeFiles(app, cluster) {
    await removeDirectory(app.config.data, cluster);
    const found = detectedCgroups();
    if (found && isAllowed(found)) await found.remove(cluster);
  },
  recover: releaseDeadHolders,
  sweep: sweepOrphans,
};
