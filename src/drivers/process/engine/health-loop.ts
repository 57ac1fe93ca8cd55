import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgramFigures } from '../../driver.ts';
import { boundLogs, isRunning, measureProcess, type ProgramRecord } from '../clients/programs.ts';
import { isStuck, probeMembers } from './etcd/probe.ts';
import { isNearlyFull, keepEtcd } from './etcd/upkeep.ts';
import { describeExit, wasOomKilledRecently } from './oom-kills.ts';
import { probeReady } from './readiness.ts';
import type { Component, ProcessPlane } from './state.ts';
import { measureStore, servedStore } from './store-size.ts';

const limits = {
  checkIntervalMs: 2_000,
  probeEvery: 2,
  probeTimeoutMs: 5_000,
  maxFailedProbes: 3,
  measureIntervalMs: 60_000,
  /** Of a store that is nearly full. */
  closeMeasureIntervalMs: 2_000,
};

/** Checks a cluster's programs until the plane stops. A finding is set as `plane.problem`, and `onProblem` wakes the shard, which applies again. */
export async function runHealthLoop(plane: ProcessPlane, onProblem: () => void, everyMs = limits.checkIntervalMs): Promise<void> {
  const { signal } = plane.stopping;
  let measuredAt = Number.NEGATIVE_INFINITY;
  for (let check = 1; !signal.aborted; check++) {
    await waitForNextCheck(plane, everyMs);
    // Also during a change: tenants can make an apiserver log a lot.
    if (plane.directory) await boundLogs(plane.directory.dir).catch(() => {}); // at the next check
    if (signal.aborted || plane.applying || plane.reviving || plane.servers.length === 0) continue;
    try {
      const { applyCount } = plane;
      const found =
        (await findExited(plane)) ?? (check % limits.probeEvery === 0 ? await findUnresponsive(plane) : await findFirstNode(plane));
      // An apply that runs or ran meanwhile has newer information.
      if (found !== undefined && plane.problem === undefined && !plane.applying && plane.applyCount === applyCount) {
        plane.problem = found;
        plane.hasNodes ||= found === firstNodeJoined;
        onProblem();
      }
      const intervalMs = plane.etcd && isNearlyFull(plane.etcd) ? limits.closeMeasureIntervalMs : limits.measureIntervalMs;
      if (performance.now() - measuredAt < intervalMs) continue;
      measuredAt = performance.now();
      await measure(plane);
    } catch (error) {
      plane.app.log.debug({ err: error, cluster: plane.parts.cluster().id }, 'a cluster’s programs could not be looked at');
    }
  }
}

/** A request that met a broken connection triggers the next check at once. */
async function waitForNextCheck(plane: ProcessPlane, everyMs: number): Promise<void> {
  const soon = new AbortController();
  plane.checkSoon = () => soon.abort();
  await sleep(everyMs, undefined, { signal: AbortSignal.any([plane.stopping.signal, soon.signal]), ref: false }).catch(() => {});
}

/** Every known program except the draining ones. */
export const programsOf = ({ kine, etcd, servers, controllers }: ProcessPlane): ProgramRecord[] => [
  ...(kine ? [kine] : []),
  ...(etcd ? [...etcd.members.values()].map(({ record }) => record) : []),
  ...servers.map(({ record }) => record),
  ...controllers.values(),
];

async function findExited(plane: ProcessPlane): Promise<string | undefined> {
  for (const record of programsOf(plane)) if (!(await isRunning(record))) return describeExit(plane, record.kind);
  return undefined;
}

/** A member of etcd that does not answer, or an apiserver that fails several probes in a row, by not answering or by not being ready. */
async function findUnresponsive(plane: ProcessPlane): Promise<string | undefined> {
  if (plane.etcd) await probeMembers(plane.etcd, limits.probeTimeoutMs);
  if (plane.etcd && [...plane.etcd.members.values()].some(isStuck)) return 'a member of its datastore does not answer; it is started again';
  await Promise.all(
    plane.servers.map(async (server) => {
      const { isThere, isReady } = await probeReady(server.target, limits.probeTimeoutMs);
      server.unansweredProbes = isThere ? 0 : server.unansweredProbes + 1;
      server.unreadyProbes = isReady ? 0 : server.unreadyProbes + 1;
    }),
  );
  // Requests go to ready apiservers; if none is ready, to all.
  const isAnyReady = plane.servers.some(({ unreadyProbes }) => unreadyProbes === 0);
  for (const { target, unreadyProbes } of plane.servers) {
    if (unreadyProbes === 0) plane.pool.include(target);
    else if (isAnyReady) plane.pool.exclude(target);
  }
  if (plane.servers.some(({ unansweredProbes }) => unansweredProbes >= limits.maxFailedProbes))
    return 'kube-apiserver does not answer; it is started again';
  return plane.servers.some(({ unreadyProbes }) => unreadyProbes >= limits.maxFailedProbes)
    ? 'kube-apiserver answers that it is not ready'
    : undefined;
}

/** The first node, from which on a scheduler is needed. The caller sets `hasNodes`; if it discards the finding, the next check finds it again. */
async function findFirstNode(plane: ProcessPlane): Promise<string | undefined> {
  if (plane.hasNodes) return undefined;
  const { status, body } = await plane.ask('GET', '/api/v1/nodes?limit=1');
  return status === 200 && (body.items ?? []).length > 0 ? firstNodeJoined : undefined;
}

/** Not a failure: the cluster answers as before. */
export const firstNodeJoined = 'the first node joined; the scheduler is started';

async function measure(plane: ProcessPlane): Promise<void> {
  const { app, cpu, restarts, forwarding } = plane;
  const measureAll = () => measureStore(app, servedStore(plane));
  const { bytes, objects } = plane.etcd ? await keepEtcd(plane) : await forwarding.capacity.remeasure(measureAll);
  const byKind = new Map<string, Component>();
  const at = performance.now();
  const seen = new Set<number>();
  for (const record of programsOf(plane)) {
    const { memoryBytes, cpuSeconds } = await measureProcess(record);
    const last = cpu.get(record.pid);
    const cpuMilli = last && at > last.at ? Math.max(0, Math.round(((cpuSeconds - last.seconds) / (at - last.at)) * 1e6)) : 0;
    cpu.set(record.pid, { seconds: cpuSeconds, at });
    seen.add(record.pid);
    const outOfMemory = wasOomKilledRecently(plane, record.kind);
    const none = { name: record.kind, cpuMilli: 0, memoryBytes: 0, restarts: restarts.get(record.kind) ?? 0, outOfMemory };
    const sum = byKind.get(record.kind) ?? none;
    byKind.set(record.kind, { ...sum, cpuMilli: sum.cpuMilli + cpuMilli, memoryBytes: sum.memoryBytes + memoryBytes });
  }
  for (const pid of cpu.keys()) if (!seen.has(pid)) cpu.delete(pid);
  plane.figures = { bytes, objects, components: [...byKind.values()] };
}

/** Whether programs run is checked now; their memory is from the last measurement. */
export async function listPrograms(plane: ProcessPlane): Promise<ProgramFigures[]> {
  const found = new Map<string, ProgramFigures>();
  for (const record of programsOf(plane)) {
    const { kind: name } = record;
    const memoryBytes = plane.figures.components.find((each) => each.name === name)?.memoryBytes ?? 0;
    const memoryEnds = plane.oomKills.get(name)?.total ?? 0;
    const known = found.get(name) ?? {
      name,
      up: 0,
      restarts: plane.restarts.get(name) ?? record.restarts,
      memoryBytes,
      oomKills: memoryEnds,
    };
    found.set(name, { ...known, up: known.up + ((await isRunning(record)) ? 1 : 0) });
  }
  return [...found.values()];
}
