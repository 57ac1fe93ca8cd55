import { setTimeout as sleep } from 'node:timers/promises';
import { boundLogs, isRunning, measureProcess, type ProgramRecord } from '../../clients/process/programs.ts';
import type { ProgramFigure } from '../driver.ts';
import { isShortOfMemory, whyEnded } from './memory-ends.ts';
import { askReady } from './ready.ts';
import type { Component, ProcessPlane } from './state.ts';
import { weighStore } from './weigh.ts';

const limits = { lookMs: 2_000, askEvery: 2, readyMs: 5_000, silentLooks: 3, measureMs: 60_000 };

/** Looks after a cluster's programs until it is stopped: whatever is not as it should be is said, and `tell` calls those who mend it. */
export async function lookAfter(plane: ProcessPlane, tell: () => void, everyMs = limits.lookMs): Promise<void> {
  const { signal } = plane.stopping;
  let measuredAt = Number.NEGATIVE_INFINITY;
  for (let look = 1; !signal.aborted; look++) {
    await untilNextLook(plane, everyMs);
    // Also while something is being changed: its people can make an apiserver say much.
    if (plane.place) await boundLogs(plane.place.dir).catch(() => {}); // at the next look
    if (signal.aborted || plane.applying || plane.servers.length === 0) continue;
    try {
      const { applies } = plane;
      const found = (await findGone(plane)) ?? (look % limits.askEvery === 0 ? await findSilent(plane) : await findNode(plane));
      // Whoever changes the programs at the same time knows better.
      if (found !== undefined && plane.trouble === undefined && !plane.applying && plane.applies === applies) {
        plane.trouble = found;
        plane.hasNodes ||= found === firstNode;
        tell();
      }
      if (performance.now() - measuredAt < limits.measureMs) continue;
      measuredAt = performance.now();
      await measure(plane);
    } catch (error) {
      plane.app.log.debug({ err: error, cluster: plane.parts.cluster().id }, 'a cluster’s programs could not be looked at');
    }
  }
}

/** A request that met a broken connection makes the next look come at once. */
async function untilNextLook(plane: ProcessPlane, everyMs: number): Promise<void> {
  const soon = new AbortController();
  plane.lookSoon = () => soon.abort();
  await sleep(everyMs, undefined, { signal: AbortSignal.any([plane.stopping.signal, soon.signal]), ref: false }).catch(() => {});
}

/** All that this server knows of, but those on their way out. */
export const programsOf = ({ kine, servers, controllers }: ProcessPlane): ProgramRecord[] => [
  ...(kine ? [kine] : []),
  ...servers.map(({ record }) => record),
  ...controllers.values(),
];

async function findGone(plane: ProcessPlane): Promise<string | undefined> {
  for (const record of programsOf(plane)) if (!(await isRunning(record))) return whyEnded(plane, record.kind);
  return undefined;
}

/** An apiserver that says nothing, or that is not ready, several times in a row. */
async function findSilent(plane: ProcessPlane): Promise<string | undefined> {
  await Promise.all(
    plane.servers.map(async (server) => {
      const { isThere, isReady } = await askReady(server.target, limits.readyMs);
      server.silent = isThere ? 0 : server.silent + 1;
      server.unready = isReady ? 0 : server.unready + 1;
    }),
  );
  // Requests go to those that are ready; if none is, to all that are there.
  const isAnyReady = plane.servers.some(({ unready }) => unready === 0);
  for (const { target, unready } of plane.servers) {
    if (unready === 0) plane.targets.takeBack(target);
    else if (isAnyReady) plane.targets.leaveOut(target);
  }
  if (plane.servers.some(({ silent }) => silent >= limits.silentLooks)) return 'kube-apiserver does not answer; it is started again';
  return plane.servers.some(({ unready }) => unready >= limits.silentLooks) ? 'kube-apiserver answers that it is not ready' : undefined;
}

/** The first node: from now on there is something to schedule for. It is noted by whoever tells of it, so that the next look finds it again else. */
async function findNode(plane: ProcessPlane): Promise<string | undefined> {
  if (plane.hasNodes) return undefined;
  const { status, body } = await plane.ask('GET', '/api/v1/nodes?limit=1');
  return status === 200 && (body.items ?? []).length > 0 ? firstNode : undefined;
}

/** No trouble at all: the cluster answers as before. */
export const firstNode = 'the first node joined; the scheduler is started';

async function measure(plane: ProcessPlane): Promise<void> {
  const { app, parts, cpu, restarts, forwarding } = plane;
  const weighAll = () => weighStore(app, parts);
  const { bytes, objects } = await forwarding.capacity.weigh(weighAll);
  const byKind = new Map<string, Component>();
  const at = performance.now();
  const seen = new Set<number>();
  for (const record of programsOf(plane)) {
    const { memoryBytes, cpuSeconds } = await measureProcess(record);
    const last = cpu.get(record.pid);
    const cpuMilli = last && at > last.at ? Math.max(0, Math.round(((cpuSeconds - last.seconds) / (at - last.at)) * 1e6)) : 0;
    cpu.set(record.pid, { seconds: cpuSeconds, at });
    seen.add(record.pid);
    const outOfMemory = isShortOfMemory(plane, record.kind);
    const none = { name: record.kind, cpuMilli: 0, memoryBytes: 0, restarts: restarts.get(record.kind) ?? 0, outOfMemory };
    const sum = byKind.get(record.kind) ?? none;
    byKind.set(record.kind, { ...sum, cpuMilli: sum.cpuMilli + cpuMilli, memoryBytes: sum.memoryBytes + memoryBytes });
  }
  for (const pid of cpu.keys()) if (!seen.has(pid)) cpu.delete(pid);
  plane.figures = { bytes, objects, components: [...byKind.values()] };
}

/** Whether they run is looked at now, what they take is known from the last measure. */
export async function listPrograms(plane: ProcessPlane): Promise<ProgramFigure[]> {
  const found = new Map<string, ProgramFigure>();
  for (const record of programsOf(plane)) {
    const { kind: name } = record;
    const memoryBytes = plane.figures.components.find((each) => each.name === name)?.memoryBytes ?? 0;
    const memoryEnds = plane.memoryEnds.get(name)?.inAll ?? 0;
    const known = found.get(name) ?? { name, up: 0, restarts: plane.restarts.get(name) ?? record.restarts, memoryBytes, memoryEnds };
    found.set(name, { ...known, up: known.up + ((await isRunning(record)) ? 1 : 0) });
  }
  return [...found.values()];
}
