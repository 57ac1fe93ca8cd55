import { setTimeout as sleep } from 'node:timers/promises';
import { askCluster } from '../../clients/process/ask.ts';
import { isAllowed, ownCgroups } from '../../clients/process/cgroup.ts';
import { letIn } from '../../clients/process/database-way.ts';
import { answersAt, dialServer, makeTarget } from '../../clients/process/dial.ts';
import { startEgress } from '../../clients/process/egress.ts';
import { dropOtherFiles, settleCluster, writeFiles } from '../../clients/process/place.ts';
import { endProgram, endStrays, isRunning, lastWords, type ProgramRecord, readRecords } from '../../clients/process/programs.ts';
import type { Ask } from '../../clients/tenant/ask.ts';
import { wallsOf, widerOf } from '../../rules/process/cgroup.ts';
import { type DatabaseLogin, loginOf, verifierOf } from '../../rules/process/database-login.ts';
import { type FileSource, filesOf, type InnerKeys } from '../../rules/process/files.ts';
import * as rules from '../../rules/process/programs.ts';
import { closeLocks, makeRole, makeSchema, schemaOf } from '../../store/kine.ts';
import type { Prepare } from '../driver.ts';
import type { Pki } from '../pki.ts';
import { ClusterTrouble } from '../trouble.ts';
import { databaseUrl, isOwnDatabase } from './database-url.ts';
import { keepProgram, noteEnd } from './keep-program.ts';
import { noteHolder, waitForSweep } from './leftovers.ts';
import { askReady } from './ready.ts';
import type { ProcessPlane, RunningServer } from './state.ts';

const limits = { kineMs: 30_000, readyMs: 120_000, lookAtProcesses: 5, drainMs: 60_000, leaveMs: 60_000 };

/**
 * Brings the programs of a cluster to what should run; returns once it answers so. Every step looks at what is there, so it may be run again
 * after a kill at any point. What runs already as it should is left alone.
 */
export async function applyPlane(plane: ProcessPlane, pki: Pki, prepare: Prepare): Promise<void> {
  const { app, parts, stopping } = plane;
  const { id } = parts.cluster();
  const inner = pki.inner;
  if (!inner) throw new Error('the cluster has no keys for programs');
  await waitForSweep(app.config.data, id);
  plane.place ??= await settleCluster(app.config.data, id, app.config.cluster_users);
  const { dir } = plane.place;
  const described = describeRun(plane, { ca: { certificate: pki.caCertificate, key: pki.caKey }, accountKey: pki.accountKey, inner });
  const steps = await Promise.allSettled([
    described,
    noteHolder(dir, parts.lease ?? ''),
    makeStore(plane, loginOf(schemaOf(id), inner.storeKey)),
    readRecords(dir).then((records) => endStrays(dir, records)),
    openEgress(plane),
    openDatabase(plane),
    widenWalls(plane),
  ]);
  for (const step of steps) if (step.status === 'rejected') throw step.reason;
  const run = await described;

  await endStuckStore(plane);
  plane.kine = await keepProgram(plane, rules.wantKine(run));
  const servers = rules.wantApiservers(run);
  await leaveOutGone(plane);
  // Side by side: an apiserver is busy with itself for a second before it asks for its store.
  await Promise.all(servers.map((each) => keepProgram(plane, each)));
  await waitForKine(plane, plane.kine);
  stopping.signal.throwIfAborted();
  const preparing = prepareEarly(plane, prepare);
  await keepServers(plane, servers, inner, preparing.begin);
  try {
    // Before the controllers, which want the processors for themselves when they start; but nobody goes without them for what this meets.
    if (!(await preparing.isDone())) await prepare(plane.ask);
  } finally {
    await keepControllers(plane, run);
  }
  plane.keysDir = run.keysDir;
  await tidyUp(plane);
  plane.trouble = undefined;
}

/** A new apiserver waits for a second before it makes the roles without which it is not ready. The first of a cluster can be asked meanwhile. */
function prepareEarly({ servers }: ProcessPlane, prepare: Prepare) {
  let done: Promise<boolean> | undefined;
  const begin = ({ target }: RunningServer) => {
    if (servers.length > 0) return;
    const ask: Ask = (method, path, body) => askCluster((dialed) => dialServer(target, dialed), method, path, body);
    done ??= prepare(ask).then(
      () => true,
      () => false, // it is asked again once it is ready, and then says why
    );
  };
  return { begin, isDone: async () => (await done) ?? false };
}

/** Its schema in our database, and who may come to it. */
async function makeStore({ app, parts }: ProcessPlane, login: DatabaseLogin): Promise<void> {
  const { id } = parts.cluster();
  await app.db.write(async (tx) => {
    await makeSchema(tx, id);
    if (!isOwnDatabase(app)) return;
    await closeLocks(tx);
    await makeRole(tx, id, verifierOf(login));
  });
}

/** Where the programs run as another user than our PostgreSQL does. In a database of the operator's own, whom it lets in is not ours to say. */
async function openDatabase({ app, place }: ProcessPlane): Promise<void> {
  const { host = '', port = 5432 } = app.connection;
  if (place?.other && isOwnDatabase(app) && host.startsWith('/')) await letIn(host, Number(port), place.other.gid);
}

async function openEgress(plane: ProcessPlane): Promise<void> {
  const { egressSocket: socket, identity } = plane.place!;
  plane.egress ??= await startEgress(plane.app, { socket, org: plane.parts.cluster().org_id, owner: identity.owner });
}

/** Before anything is started: what holds now, and what is wanted. */
async function widenWalls(plane: ProcessPlane): Promise<void> {
  const found = await ownCgroups();
  const { id, tier, replicas } = plane.parts.cluster();
  if (!isAllowed(found)) return;
  const isNew = plane.cgroup === undefined;
  plane.cgroup = await found.keep(id);
  if (isNew) plane.memoryKills = await plane.cgroup.memoryKills();
  await plane.cgroup.bound(widerOf(await plane.cgroup.walls(), wallsOf(tier, replicas)));
}

/** Not while a program that leaves may still read its files, or needs the memory of a larger tier. */
async function tidyUp(plane: ProcessPlane): Promise<void> {
  const { place, keysDir, leaving, cgroup, parts } = plane;
  if (!place || !keysDir || leaving.size > 0) return;
  await dropOtherFiles(place, keysDir);
  const { tier, replicas } = parts.cluster();
  await cgroup?.bound(wallsOf(tier, replicas));
}

async function describeRun(plane: ProcessPlane, source: Omit<FileSource, 'egressSocket'>): Promise<rules.Run> {
  const { app, parts } = plane;
  const { id, version, tier, replicas } = parts.cluster();
  const place = plane.place!;
  const folder = await parts.binaries.find(version);
  if (folder === undefined)
    throw new ClusterTrouble(
      `the programs of ${version} are not installed on the server that runs it; the operator runs quarterdeck admin clusters install ${version}`,
    );
  return {
    ...{ tier, replicas, endpoint: parts.endpoint, kineSocket: place.kineSocket, user: place.other?.uid },
    binaries: { dir: folder, kine: parts.binaries.kine },
    keysDir: await writeFiles(place, filesOf({ ...source, egressSocket: place.egressSocket })),
    database: databaseUrl(app, schemaOf(id), loginOf(schemaOf(id), source.inner.storeKey)),
  };
}

/** Every apiserver answers, and says for a while that it is not ready: then it is their store that is stuck. */
async function endStuckStore(plane: ProcessPlane): Promise<void> {
  const { kine, servers, place, stopping } = plane;
  if (!kine || servers.length === 0 || servers.some(({ unready, silent }) => unready === 0 || silent > 0)) return;
  const looks = await Promise.all(servers.map(({ target }) => askReady(target, 10_000, stopping.signal)));
  stopping.signal.throwIfAborted();
  if (looks.every(({ isThere, isReady }) => isThere && !isReady)) await endProgram(place!.dir, kine);
}

async function waitForKine(plane: ProcessPlane, record: ProgramRecord): Promise<void> {
  const until = performance.now() + limits.kineMs;
  while (!(await answersAt(plane.place!.kineSocket))) {
    plane.stopping.signal.throwIfAborted();
    if (!(await isRunning(record))) await failStart(plane, record);
    if (performance.now() > until) throw new ClusterTrouble('its store does not answer; it is tried again');
    await sleep(50);
  }
}

/** Throws: for the operator what it said, for the cluster's people that it did not start. */
async function failStart(plane: ProcessPlane, record: ProgramRecord): Promise<never> {
  const said = await lastWords(record);
  await noteEnd(plane, record, record);
  throw new ClusterTrouble(`${record.kind} ended while it started; it is tried again`, { cause: new Error(said) });
}

/** What is started in its place listens at the same port long before it has made its roles: nobody is to be told by it that they may not. */
async function leaveOutGone({ servers, targets }: ProcessPlane): Promise<void> {
  for (const { record, target } of servers) if (!(await isRunning(record))) targets.leaveOut(target);
}

/** New apiservers become ready before the ones that they replace lose a request. */
async function keepServers(
  plane: ProcessPlane,
  wanted: readonly rules.WantedProgram[],
  inner: InnerKeys,
  onAnswer: (server: RunningServer) => void,
): Promise<void> {
  const settled = await Promise.allSettled(wanted.map((each) => keepServer(plane, each, inner, onAnswer)));
  const ready = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const isWhole = ready.length === wanted.length;
  // While one of the new ones is missing, those that run serve on.
  const names = new Set(ready.map(({ record }) => record.name));
  const others = plane.servers.filter(({ record }) => !names.has(record.name));
  plane.servers = isWhole ? ready : [...(await keepRunning(others)), ...ready];
  plane.targets.switchTo(plane.servers.map(({ target }) => target));
  for (const { target } of ready) plane.targets.takeBack(target);
  if (isWhole) {
    for (const server of others) sendAway(plane, server);
    await endOthers(plane, 'kube-apiserver', new Set(wanted.map(({ name }) => name)));
  }
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
}

async function keepRunning(servers: readonly RunningServer[]): Promise<RunningServer[]> {
  const running = await Promise.all(servers.map(({ record }) => isRunning(record)));
  return servers.filter((_, n) => running[n]);
}

async function keepServer(
  plane: ProcessPlane,
  wanted: rules.WantedProgram,
  inner: InnerKeys,
  onAnswer: (server: RunningServer) => void,
): Promise<RunningServer> {
  const serving = plane.servers.find(({ record }) => record.name === wanted.name);
  // One that said nothing for a while is given a last chance, then ended.
  if (serving && serving.silent > 0 && !(await askReady(serving.target, 10_000, plane.stopping.signal)).isThere) {
    plane.targets.leaveOut(serving.target);
    await endProgram(plane.place!.dir, serving.record);
  }
  const record = await keepProgram(plane, wanted);
  if (serving?.record.pid === record.pid && serving.record.started === record.started) {
    await waitReady(plane, serving);
    return serving;
  }
  if (serving) {
    plane.targets.leaveOut(serving.target);
    plane.targets.close(serving.target);
  }
  const server: RunningServer = { record, target: makeTarget(record.port, inner), silent: 0, unready: 0 };
  await waitReady(plane, server, onAnswer).catch((error) => {
    server.target.close();
    throw error;
  });
  return server;
}

async function waitReady(plane: ProcessPlane, server: RunningServer, onAnswer?: (server: RunningServer) => void): Promise<void> {
  const until = performance.now() + limits.readyMs;
  for (let look = 0; ; look++) {
    plane.stopping.signal.throwIfAborted();
    const { isThere, isReady } = await askReady(server.target, 5_000, plane.stopping.signal);
    if (isThere) onAnswer?.(server);
    // Another program may have the port: then ours has ended. Without its store it becomes ready never.
    for (const record of [server.record, ...(plane.kine ? [plane.kine] : [])])
      if ((isReady || look % limits.lookAtProcesses === 0) && !(await isRunning(record))) await failStart(plane, record);
    if (isReady) break;
    if (performance.now() > until) {
      await endProgram(plane.place!.dir, server.record);
      throw new ClusterTrouble(`kube-apiserver was not ready within ${limits.readyMs / 1000} s; it is started again`);
    }
    await sleep(50);
  }
  Object.assign(server, { silent: 0, unready: 0 });
}

/** No new requests; those under way get their answers, then it ends its watches by itself, and its clients go on at its successor. */
function sendAway(plane: ProcessPlane, { record, target }: RunningServer): void {
  const { signal } = plane.stopping;
  const leave = async () => {
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await Promise.race([plane.targets.drain(target, limits.drainMs), stopped]);
    await endProgram(plane.place!.dir, record, limits.leaveMs);
    plane.targets.close(target);
  };
  const leaving: Promise<void> = leave()
    .catch((error) => plane.app.log.warn({ err: error, cluster: plane.parts.cluster().id }, 'an old apiserver could not be ended'))
    .finally(() => {
      plane.leaving.delete(leaving);
      return tidyUp(plane).catch(() => {}); // at the next change
    });
  plane.leaving.add(leaving);
}

/** Programs of a kind that a server before this one left, and nobody wants any more. */
async function endOthers(plane: ProcessPlane, kind: rules.Kind, wanted: ReadonlySet<string>): Promise<void> {
  if (plane.leaving.size > 0) return; // at the next look
  const { dir } = plane.place!;
  const others = (await readRecords(dir)).filter((record) => record.kind === kind && !wanted.has(record.name));
  await Promise.all(others.map((record) => endProgram(dir, record)));
}

/** They speak to one apiserver by its port, and are started anew when that changes. */
async function keepControllers(plane: ProcessPlane, run: rules.Run): Promise<void> {
  const server = `https://127.0.0.1:${plane.servers[0]!.record.port}`;
  const wanted = [rules.wantControllerManager(run, server), ...(plane.hasNodes ? [rules.wantScheduler(run, server)] : [])];
  for (const each of wanted) plane.controllers.set(each.kind, await keepProgram(plane, each));
}
