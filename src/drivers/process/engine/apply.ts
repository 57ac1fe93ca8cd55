import { setTimeout as sleep } from 'node:timers/promises';
import { ClusterError } from '../../cluster-error.ts';
import type { Ask, Prepare } from '../../driver.ts';
import type { InnerKeys, Pki } from '../../keys.ts';
import { askCluster } from '../clients/ask.ts';
import { isAllowed, ownCgroups } from '../clients/cgroup.ts';
import { grantSocketAccess } from '../clients/database-socket.ts';
import { dialServer, isListening, makeTarget } from '../clients/dial.ts';
import { prepareDirectory, removeOtherKeyFiles } from '../clients/directory.ts';
import { startEgress } from '../clients/egress.ts';
import { isRunning, lastLogLine, type ProgramRecord, readRecords, stopProgram, stopUnrecorded } from '../clients/programs.ts';
import { markServed, prepareStoreDir } from '../clients/store-directory.ts';
import { cgroupLimitsOf, largerLimits } from '../rules/cgroup.ts';
import * as rules from '../rules/programs.ts';
import { isOwnDatabase } from './database-url.ts';
import { describeRun } from './describe-run.ts';
import { ensureProgram, recordExit } from './ensure-program.ts';
import { stopFormerGenerations } from './etcd/generation.ts';
import { ensureEtcd, removeSurplus, settleMembers, waitForMajority } from './etcd/members.ts';
import { memberEnded } from './etcd/outage.ts';
import { endAlarms } from './etcd/upkeep.ts';
import { ensureKineStore } from './kine-store.ts';
import { recordHolder, waitForSweep } from './orphans.ts';
import { probeReady } from './readiness.ts';
import type { ProcessPlane, RunningApiserver } from './state.ts';

const limits = {
  kineTimeoutMs: 30_000,
  readyTimeoutMs: 120_000,
  checkProcessEvery: 5,
  drainTimeoutMs: 60_000,
  stopTimeoutMs: 60_000,
  freezeTimeoutMs: 60_000,
};

/**
 * Starts, replaces and stops programs until the cluster runs as its row says, and returns once it answers. Every step checks the present state,
 * so it is safe to run again after a kill at any point. A program that already runs as wanted is not touched.
 */
export async function applyPlane(plane: ProcessPlane, pki: Pki, prepare: Prepare): Promise<void> {
  const { app, parts, stopping } = plane;
  const { id } = parts.cluster();
  const inner = pki.inner;
  if (!inner) throw new Error('the cluster has no keys for programs');
  await waitForSweep(app.config.data, id);
  plane.directory ??= await prepareDirectory(app.config.data, id, app.config.cluster_users);
  const { dir } = plane.directory;
  const described = describeRun(plane, { ca: { certificate: pki.caCertificate, key: pki.caKey }, accountKey: pki.accountKey, inner });
  const isOnEtcd = parts.cluster().store === 'etcd';
  const steps = await Promise.allSettled([
    described,
    recordHolder(dir, parts.lease ?? ''),
    isOnEtcd ? prepareStoreDir(app.config.data, id) : ensureKineStore(app, parts, inner.storeKey, stopping.signal),
    readRecords(dir).then((records) => stopUnrecorded(dir, records)),
    openEgress(plane),
    openDatabaseSocket(plane),
    raiseCgroupLimits(plane),
  ]);
  for (const step of steps) if (step.status === 'rejected') throw step.reason;
  const run = await described;

  await plane.reviving;
  await beginStore(plane, run, inner);
  await excludeExited(plane);
  // In parallel: an apiserver initializes for a second before it connects to its store. One that serves already waits for the members to change.
  if (plane.servers.length === 0 && isSettled(plane, run))
    await Promise.all(wantServers(plane, run).map((each) => ensureProgram(plane, each)));
  await settleStore(plane, run, inner);
  const servers = wantServers(plane, run);
  stopping.signal.throwIfAborted();
  const preparing = prepareEarly(plane, prepare);
  await ensureApiservers(plane, servers, inner, preparing.begin);
  plane.unfreeze();
  try {
    // Before the controllers, which take the processors when they start. A failure here must not keep them from starting.
    if (!(await preparing.isDone())) await prepare(plane.ask);
  } finally {
    await ensureControllers(plane, run);
  }
  plane.keysDir = run.keysDir;
  await removeFormerStores(plane);
  await removeUnused(plane);
  plane.problem = undefined;
}

/** A new apiserver creates the roles that readiness needs only after a second. Until then, the first one of a cluster already takes requests. */
function prepareEarly({ servers }: ProcessPlane, prepare: Prepare) {
  let done: Promise<boolean> | undefined;
  const begin = ({ target }: RunningApiserver) => {
    if (servers.length > 0) return;
    const ask: Ask = (method, path, body) => askCluster((dialed) => dialServer(target, dialed), method, path, body);
    done ??= prepare(ask).then(
      () => true,
      () => false, // retried once it is ready; that attempt reports the reason
    );
  };
  return { begin, isDone: async () => (await done) ?? false };
}

const wantServers = (plane: ProcessPlane, run: rules.RunSpec) => rules.wantApiservers(run, plane.etcd?.endpoints ?? []);

/** Whether the apiservers' store is known before it answers. */
const isSettled = ({ etcd }: ProcessPlane, { store }: rules.RunSpec): boolean =>
  store.kind === 'kine' ||
  (etcd!.file.members.length === store.wantedMembers && etcd!.file.members.every(({ isFirst, hasStarted }) => isFirst || hasStarted));

/** Starts the programs of the store. */
async function beginStore(plane: ProcessPlane, run: rules.RunSpec, { etcd: keys }: InnerKeys): Promise<void> {
  if (run.store.kind === 'kine') {
    if (plane.etcd) plane.formerEtcds.push(plane.etcd);
    plane.etcd = undefined;
    await restartStuckKine(plane);
    plane.kine = await ensureProgram(plane, rules.wantKine(run, run.store));
    return;
  }
  if (!keys) throw new Error('the cluster has no keys for etcd');
  plane.memberEnded = (member) => memberEnded(plane, member, keys);
  await ensureEtcd(plane, run, run.store, keys);
}

/** Waits until the store answers, and brings its members to what is wanted. */
async function settleStore(plane: ProcessPlane, run: rules.RunSpec, { etcd: keys }: InnerKeys): Promise<void> {
  if (run.store.kind === 'kine') return waitForKine(plane, plane.kine!, run.store.socket);
  await waitForMajority(plane, keys!);
  await settleMembers(plane, run, run.store, keys!);
  await endAlarms(plane, plane.etcd!); // of a quota that has grown: what follows has to write
}

/** Stops what the apiservers that run now do not use: members that are too many, generations before this one, and kine after a move. The old
 *  apiservers must have stopped first. Files of generations are removed by the sweep. */
async function removeFormerStores(plane: ProcessPlane): Promise<void> {
  const { directory, etcd, kine } = plane;
  const { dir } = directory!;
  const prefix = `etcd-${etcd?.generation}-`;
  const unused = (await readRecords(dir)).filter(
    ({ kind, name }) => (kind === 'kine' && (etcd || name !== kine?.name)) || (kind === 'etcd' && !(etcd && name.startsWith(prefix))),
  );
  const isSurplus = etcd !== undefined && etcd.file.members.length > etcd.endpoints.length;
  if (unused.length === 0 && !isSurplus) return;
  await Promise.all(plane.draining);
  plane.stopping.signal.throwIfAborted();
  if (isSurplus) await removeSurplus(plane);
  await stopFormerGenerations(plane, unused);
  if (etcd) plane.kine = undefined;
}

/** Needed where the programs run as another user than our PostgreSQL. Access to an operator's own database is the operator's to configure. */
export async function openDatabaseSocket({ app, directory }: ProcessPlane): Promise<void> {
  const { host = '', port = 5432 } = app.connection;
  if (directory?.separateUser && isOwnDatabase(app) && host.startsWith('/'))
    await grantSocketAccess(host, Number(port), directory.separateUser.gid);
}

async function openEgress(plane: ProcessPlane): Promise<void> {
  const { egressSocket: socket, identity } = plane.directory!;
  plane.egress ??= await startEgress(plane.app, {
    socket,
    org: plane.parts.cluster().org_id,
    guardOf: plane.parts.nodeGuard,
    owner: identity.owner,
  });
}

/** Before any program starts: the larger of the present and the wanted limits. */
async function raiseCgroupLimits(plane: ProcessPlane): Promise<void> {
  const found = await ownCgroups();
  const cluster = plane.parts.cluster();
  if (!isAllowed(found)) return;
  const isNew = plane.cgroup === undefined;
  plane.cgroup = await found.keep(cluster.id);
  if (isNew) plane.oomKillCount = await plane.cgroup.memoryKills();
  await plane.cgroup.bound(largerLimits(await plane.cgroup.walls(), cgroupLimitsOf(cluster)));
}

/** Waits until draining programs have exited: they may still read their files, or need the memory of a larger tier. */
async function removeUnused(plane: ProcessPlane): Promise<void> {
  const { directory, keysDir, draining, cgroup, parts } = plane;
  if (!directory || !keysDir || draining.size > 0) return;
  await removeOtherKeyFiles(directory, keysDir);
  await cgroup?.bound(cgroupLimitsOf(parts.cluster()));
}

/** When every apiserver answers but none is ready for several probes, kine is stuck. */
async function restartStuckKine(plane: ProcessPlane): Promise<void> {
  const { kine, servers, directory, stopping } = plane;
  if (!kine || servers.length === 0 || servers.some(({ unreadyProbes, unansweredProbes }) => unreadyProbes === 0 || unansweredProbes > 0))
    return;
  const probes = await Promise.all(servers.map(({ target }) => probeReady(target, 10_000, stopping.signal)));
  stopping.signal.throwIfAborted();
  if (probes.every(({ isThere, isReady }) => isThere && !isReady)) await stopProgram(directory!.dir, kine);
}

async function waitForKine(plane: ProcessPlane, record: ProgramRecord, socket: string): Promise<void> {
  const deadline = performance.now() + limits.kineTimeoutMs;
  while (!(await isListening(socket))) {
    plane.stopping.signal.throwIfAborted();
    if (!(await isRunning(record))) await failStart(plane, record);
    if (performance.now() > deadline) throw new ClusterError('its store does not answer; it is tried again');
    await sleep(50);
  }
}

/** Throws. The cause holds the program's last log line for the operator; the message is for the tenant. */
async function failStart(plane: ProcessPlane, record: ProgramRecord): Promise<never> {
  const lastLine = await lastLogLine(record);
  await recordExit(plane, record, record);
  throw new ClusterError(`${record.kind} ended while it started; it is tried again`, { cause: new Error(lastLine) });
}

/** The successor listens on the same port before it has created its roles, and would answer 403 to callers that have the right. */
async function excludeExited({ servers, pool }: ProcessPlane): Promise<void> {
  for (const { record, target } of servers) if (!(await isRunning(record))) pool.exclude(target);
}

/** The old apiservers keep serving until all new ones are ready. */
async function ensureApiservers(
  plane: ProcessPlane,
  wanted: readonly rules.WantedProgram[],
  inner: InnerKeys,
  onAnswer: (server: RunningApiserver) => void,
): Promise<void> {
  const settled = await Promise.allSettled(wanted.map((each) => ensureApiserver(plane, each, inner, onAnswer)));
  const ready = settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const isWhole = ready.length === wanted.length;
  // While a new apiserver is missing, the running ones keep serving.
  const names = new Set(ready.map(({ record }) => record.name));
  const others = plane.servers.filter(({ record }) => !names.has(record.name));
  const isSwitching = (await switchStore(plane, isWhole)) === 'not yet';
  plane.servers = isWhole ? ready : [...(await filterRunning(others)), ...(isSwitching ? [] : ready)];
  plane.pool.switchTo(plane.servers.map(({ target }) => target));
  for (const { target } of ready) plane.pool.include(target);
  if (isWhole) {
    for (const server of others) drainAndStop(plane, server);
    await stopUnwanted(plane, 'kube-apiserver', new Set(wanted.map(({ name }) => name)));
  }
  const failed = settled.find((each) => each.status === 'rejected');
  if (failed) throw failed.reason;
}

/** Requests of a cluster reach one generation of its store at a time: an apiserver of the next one gets none before all of them are ready. */
async function switchStore(plane: ProcessPlane, isWhole: boolean): Promise<'not yet' | undefined> {
  const { store_generation: wanted } = plane.parts.cluster();
  if (plane.servedGeneration === wanted) return undefined;
  if (!isWhole) return 'not yet';
  if (plane.etcd?.generation === wanted) await markServed(plane.etcd.dir);
  await plane.parts.beforeStoreSwitch?.(wanted);
  plane.servedGeneration = wanted;
  return undefined;
}

async function filterRunning(servers: readonly RunningApiserver[]): Promise<RunningApiserver[]> {
  const running = await Promise.all(servers.map(({ record }) => isRunning(record)));
  return servers.filter((_, n) => running[n]);
}

async function ensureApiserver(
  plane: ProcessPlane,
  wanted: rules.WantedProgram,
  inner: InnerKeys,
  onAnswer: (server: RunningApiserver) => void,
): Promise<RunningApiserver> {
  const serving = plane.servers.find(({ record }) => record.name === wanted.name);
  // An apiserver that missed probes gets one last, longer probe before it is stopped.
  if (serving && serving.unansweredProbes > 0 && !(await probeReady(serving.target, 10_000, plane.stopping.signal)).isThere) {
    plane.pool.exclude(serving.target);
    await stopProgram(plane.directory!.dir, serving.record);
  }
  const record = await ensureProgram(plane, wanted);
  if (serving?.record.pid === record.pid && serving.record.started === record.started) {
    await waitReady(plane, serving);
    return serving;
  }
  if (serving) {
    plane.pool.exclude(serving.target);
    plane.pool.close(serving.target);
  }
  const server: RunningApiserver = { record, target: makeTarget(record.port, inner), unansweredProbes: 0, unreadyProbes: 0 };
  await waitReady(plane, server, onAnswer).catch((error) => {
    server.target.close();
    throw error;
  });
  return server;
}

async function waitReady(plane: ProcessPlane, server: RunningApiserver, onAnswer?: (server: RunningApiserver) => void): Promise<void> {
  const deadline = performance.now() + limits.readyTimeoutMs;
  for (let probe = 0; ; probe++) {
    plane.stopping.signal.throwIfAborted();
    const { isThere, isReady } = await probeReady(server.target, 5_000, plane.stopping.signal);
    if (isThere) onAnswer?.(server);
    // If another program took the port, ours has exited. Without its store an apiserver never becomes ready.
    for (const record of [server.record, ...neededPrograms(plane)])
      if ((isReady || probe % limits.checkProcessEvery === 0) && !(await isRunning(record))) await failStart(plane, record);
    if (isReady) break;
    if (performance.now() > deadline) {
      await stopProgram(plane.directory!.dir, server.record);
      throw new ClusterError(`kube-apiserver was not ready within ${limits.readyTimeoutMs / 1000} s; it is started again`);
    }
    await sleep(50);
  }
  Object.assign(server, { unansweredProbes: 0, unreadyProbes: 0 });
}

/** Programs without which no apiserver becomes ready. */
const neededPrograms = ({ kine, etcd }: ProcessPlane): ProgramRecord[] => {
  if (!etcd) return kine ? [kine] : [];
  return etcd.members.size === 1 ? [...etcd.members.values()].map(({ record }) => record) : [];
};

/** Gives the apiserver no new requests and waits for those in flight. On SIGTERM it closes its watches, and clients resume at its successor. */
function drainAndStop(plane: ProcessPlane, { record, target }: RunningApiserver): void {
  const { signal } = plane.stopping;
  const drain = async () => {
    const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await Promise.race([plane.pool.drain(target, limits.drainTimeoutMs), stopped]);
    await stopProgram(plane.directory!.dir, record, limits.stopTimeoutMs);
    plane.pool.close(target);
  };
  const draining: Promise<void> = drain()
    .catch((error) => plane.app.log.warn({ err: error, cluster: plane.parts.cluster().id }, 'an old apiserver could not be ended'))
    .finally(() => {
      plane.draining.delete(draining);
      return removeUnused(plane).catch(() => {}); // at the next change
    });
  plane.draining.add(draining);
}

/** Stops programs of a kind that an earlier server process started and that are no longer wanted. */
async function stopUnwanted(plane: ProcessPlane, kind: rules.ProgramKind, wanted: ReadonlySet<string>): Promise<void> {
  if (plane.draining.size > 0) return; // at the next apply
  const { dir } = plane.directory!;
  const others = (await readRecords(dir)).filter((record) => record.kind === kind && !wanted.has(record.name));
  await Promise.all(others.map((record) => stopProgram(dir, record)));
}

/** Requests wait, those in flight end, and no controller runs: nothing changes the store until `unfreeze`. */
export async function freezePlane(plane: ProcessPlane): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  plane.unfreeze = resolve;
  plane.gate.closeUntil(over, { maxMs: limits.freezeTimeoutMs, isStrict: true });
  for (const record of plane.controllers.values()) await stopProgram(plane.directory!.dir, record);
  const drained = await Promise.all(plane.pool.current().map((target) => plane.pool.drain(target, limits.drainTimeoutMs)));
  if (!drained.every(Boolean)) throw new ClusterError('requests to its old store did not end in time; it is tried again');
}

/** Controllers use one apiserver, by its port, and are restarted when that port changes. */
async function ensureControllers(plane: ProcessPlane, run: rules.RunSpec): Promise<void> {
  const server = `https://127.0.0.1:${plane.servers[0]!.record.port}`;
  const wanted = [rules.wantControllerManager(run, server), ...(plane.hasNodes ? [rules.wantScheduler(run, server)] : [])];
  for (const each of wanted) plane.controllers.set(each.kind, await ensureProgram(plane, each));
}
