import type { App } from '../../../../kernel/app.ts';
import { guarded } from '../../../../kernel/faults/guarded.ts';
import { askCluster, type Dial, watchCluster } from '../../clients/process/ask.ts';
import { isAllowed, knownCgroups } from '../../clients/process/cgroup.ts';
import { dialEndpoint, dialServer, makeOutsideAgent } from '../../clients/process/dial.ts';
import { dropOtherFiles, giveBack, removePlace, runDir } from '../../clients/process/place.ts';
import { endAll } from '../../clients/process/programs.ts';
import { tierOf } from '../../rules/tiers.ts';
import { closeRole, dropSchema, endSessions } from '../../store/kine.ts';
import { clustersDue } from '../channels.ts';
import type { ControlPlane, Driver, PlaneParts, Prepare } from '../driver.ts';
import type { Pki } from '../pki.ts';
import { applyPlane } from './apply.ts';
import { makeCapacity } from './capacity.ts';
import { forwardRequest } from './forward.ts';
import { endLeftovers, giveBackLeases } from './leftovers.ts';
import { firstNode, listPrograms, lookAfter, programsOf } from './look.ts';
import { askReady } from './ready.ts';
import type { ProcessPlane } from './state.ts';
import { forwardTalk } from './talk.ts';
import { makeTargets, type Underway } from './targets.ts';
import { weighStore } from './weigh.ts';

// Kubernetes' own programs: docs/areas/clusters-process.md says what runs, and what is found after a crash at any point.

function makePlane(app: App, parts: PlaneParts): ProcessPlane {
  const targets = makeTargets(async (target) => {
    const { isReady } = await askReady(target, 5_000, plane.stopping.signal);
    if (!isReady) plane.lookSoon(); // it may be gone, and is started again
    return isReady;
  });
  const dial: Dial = (dialed) => {
    const target = targets.next();
    if (!target) return undefined;
    const asked = dialServer(target, dialed);
    const underway: Underway = { isLong: dialed.path.includes('watch=1'), cut: () => asked.destroy() };
    asked.once('close', guarded('clusters.process.close', asked, targets.enter(target, underway)));
    asked.once(
      'error',
      guarded('clusters.process.error', asked, () => targets.doubt(target, false)),
    );
    return asked;
  };
  const plane: ProcessPlane = {
    ...{ app, parts, targets, dial, place: undefined, keysDir: undefined, kine: undefined, servers: [], leaving: new Set() },
    ...{
      controllers: new Map(),
      ends: new Map(),
      restarts: new Map(),
      cpu: new Map(),
      hasNodes: false,
      egress: undefined,
      cgroup: undefined,
      memoryKills: 0,
      memoryEnds: new Map(),
      trouble: undefined,
    },
    ask: (method, path, body) => askCluster(dial, method, path, body),
    ...{ figures: { objects: 0, bytes: 0, components: [] }, applies: 0, applying: undefined },
    forwarding: {
      ...{ targets, isRefused: parts.isRefused, inflight: () => tierOf(parts.cluster().tier).inflight, underway: 0 },
      figures: { requests: 0, errors: 0, inflightPeak: 0 },
      capacity: makeCapacity(
        () => tierOf(parts.cluster().tier).datastoreBytes,
        (last) => weighStore(app, parts, last),
      ),
    },
    lookSoon: () => {},
    stopping: new AbortController(),
  };
  return plane;
}

function openPlane(app: App, parts: PlaneParts): ControlPlane {
  const plane = makePlane(app, parts);
  const { forwarding, stopping } = plane;
  const looking = lookAfter(plane, () => app.waker.wake(clustersDue));
  return {
    apply: (pki, prepare) => applyAlone(plane, pki, prepare),
    trouble: () => (plane.trouble === undefined ? undefined : { why: plane.trouble, isAway: plane.trouble !== firstNode }),
    hasControllers: true,
    serve: (request, response, identity) => forwardRequest(forwarding, request, response, identity),
    talk: (request, socket, head, identity) => forwardTalk(forwarding, request, socket, head, identity),
    ask: plane.ask,
    watch: (path, onEvent) => watchUntil(plane.dial, path, onEvent, stopping.signal),
    figures: () => {
      const { figures } = forwarding;
      const seen = { ...figures, ...plane.figures };
      figures.inflightPeak = forwarding.underway;
      return seen;
    },
    programs: () => listPrograms(plane),
    async stop() {
      stopping.abort();
      await Promise.all([looking, plane.applying?.catch(() => {})]);
      plane.targets.switchTo([]);
      if (plane.place) await endAll(plane.place.dir, programsOf(plane));
      await Promise.all(plane.leaving);
      if (plane.place) await dropOtherFiles(plane.place, undefined);
      for (const { target } of plane.servers) plane.targets.close(target);
      await plane.egress?.stop();
      if (plane.place) await giveBack(plane.place.dir);
    },
  };
}

/** One at a time. Whoever stops it waits for one that is under way, which sees soon that it is over; then all that it began is ended. */
function applyAlone(plane: ProcessPlane, pki: Pki, prepare: Prepare): Promise<void> {
  const applying = applyPlane(plane, pki, prepare).finally(() => {
    plane.applies++;
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

/** In a process that does not serve the cluster: asks at its endpoint, as everybody does. */
function openOutside(parts: PlaneParts): ControlPlane {
  const { inner, caCertificate } = parts.pki;
  if (!inner) throw new Error('the cluster has no keys for programs');
  const agent = makeOutsideAgent(inner, caCertificate);
  const dial: Dial = (dialed) => dialEndpoint(parts.endpoint, agent, dialed);
  const stopping = new AbortController();
  const refuse = () => {
    throw new Error('this process does not serve the cluster');
  };
  return {
    ...{ apply: async () => {}, trouble: () => undefined, hasControllers: true, serve: refuse, talk: refuse },
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
  openToAsk: (_app, parts) => openOutside(parts),
  async end(app, cluster) {
    await endAll(`${runDir(app.config.data)}/${cluster}`);
    // Somebody who got hold of the role's password may be in without any program of ours.
    await app.db.write((tx) => closeRole(tx, cluster));
    await app.db.read((tx) => endSessions(tx, cluster));
  },
  async forget(tx, cluster) {
    await dropSchema(tx, cluster); // what cannot go at once is told and taken away by the sweep
  },
  async clean(app, cluster) {
    await removePlace(app.config.data, cluster);
    const found = knownCgroups();
    if (found && isAllowed(found)) await found.remove(cluster);
  },
  begin: giveBackLeases,
  sweep: endLeftovers,
};
