import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { ClusterError } from '../../cluster-error.ts';
import type { CopyCount, DrivenCluster, PlaneOptions, StoreCopy } from '../../driver.ts';
import { askCluster } from '../clients/ask.ts';
import { isAllowed, ownCgroups } from '../clients/cgroup.ts';
import { dialServer, isListening, makeTarget } from '../clients/dial.ts';
import { prepareDirectory, removeDirectory } from '../clients/directory.ts';
import { isRunning, type ProgramRecord, stopAll } from '../clients/programs.ts';
import { cgroupLimitsOf } from '../rules/cgroup.ts';
import * as rules from '../rules/programs.ts';
import { checkSchemaOf, countFolders, dropBatch, findSchema } from '../store/kine.ts';
import { loadCopy } from '../store/kine-copy.ts';
import { describeRun, openDatabaseSocket } from './apply.ts';
import { countObjects } from './count-objects.ts';
import { ensureProgram } from './ensure-program.ts';
import { openKineStore } from './kine-store.ts';
import { probeReady } from './readiness.ts';
import type { ProcessPlane } from './state.ts';

/** Its directory, cgroup and user: the sweep finds what an interrupted check left, because no cluster has this id. */
export const checkNameOf = (cluster: string): string => `${cluster}-check`;

/** Checks that run now: the sweep leaves them alone. */
const running = new Set<string>();
export const isBeingChecked = (name: string): boolean => running.has(name);

const limits = { readyTimeoutMs: 180_000, dropBatches: 1_000 };

/** Memory of one apiserver, whatever the cluster has. */
const tierOfCheck = (tier: string): string => (tier === 'small' ? 'small' : 'medium');

/**
 * A store of its own with one kine and one apiserver beside the cluster, without controllers and without a way out. All of it is removed at the end;
 * after a kill the sweep removes programs and files, and the schema once the backup's `check_until` is over.
 */
export async function checkCopy(app: App, plane: ProcessPlane, copy: StoreCopy, signal: AbortSignal): Promise<CopyCount> {
  const { id } = plane.parts.cluster();
  if (running.has(id)) throw new Error('a backup of the cluster is being checked already');
  running.add(id);
  try {
    return await checkKineCopy(app, plane, copy, signal);
  } finally {
    running.delete(id);
  }
}

/** The cluster as a check runs it: `cluster` is read once. */
export const clusterOfCheck = (cluster: DrivenCluster): DrivenCluster => ({
  ...cluster,
  id: checkNameOf(cluster.id),
  tier: tierOfCheck(cluster.tier),
  replicas: 1,
});

async function checkKineCopy(app: App, plane: ProcessPlane, copy: StoreCopy, signal: AbortSignal): Promise<CopyCount> {
  const { id } = plane.parts.cluster();
  const schema = checkSchemaOf(id.replace(/-check$/, ''));
  const { storeKey } = plane.parts.pki.inner!;
  await dropNow(app, schema);
  try {
    const stored = await loadCopy(app.connection, schema, copy.content, copy.revision + 1);
    await openKineStore(app, schema, storeKey);
    const counted = await withApiserver(app, plane, schema, signal, (ask) =>
      countObjects(ask, () => app.db.read((tx) => countFolders(tx, schema)), signal),
    );
    return { stored, ...counted };
  } finally {
    await dropNow(app, schema).catch((error) => app.log.warn({ err: error, schema }, 'what a check of a backup left is dropped by the sweep'));
  }
}

async function dropNow(app: App, schema: string): Promise<void> {
  if (!(await app.db.read((tx) => findSchema(tx, schema)))) return;
  let why: string | undefined;
  for (let n = 0; n === 0 || (why !== undefined && n < limits.dropBatches); n++) why = await app.db.write((tx) => dropBatch(tx, schema));
  if (why !== undefined) throw new Error(`the schema ${schema} cannot be dropped: ${why}`);
}

async function withApiserver<T>(
  app: App,
  plane: ProcessPlane,
  schema: string,
  signal: AbortSignal,
  work: (ask: ProcessPlane['ask']) => Promise<T>,
): Promise<T> {
  const { id, tier } = plane.parts.cluster();
  plane.directory = await prepareDirectory(app.config.data, id, app.config.cluster_users);
  const { dir } = plane.directory;
  const { pki } = plane.parts;
  const inner = pki.inner!;
  try {
    await stopAll(dir);
    await openDatabaseSocket(plane);
    const cgroups = await ownCgroups();
    if (isAllowed(cgroups)) {
      plane.cgroup = await cgroups.keep(id);
      await plane.cgroup.bound(cgroupLimitsOf(tier, 1));
    }
    const run = await describeRun(plane, { ca: { certificate: pki.caCertificate, key: pki.caKey }, accountKey: pki.accountKey, inner }, schema);
    const kine = await ensureProgram(plane, rules.wantKine(run));
    await until(signal, [kine], () => isListening(run.kineSocket));
    const server = await ensureProgram(plane, rules.wantApiservers(run)[0]!);
    const target = makeTarget(server.port, inner);
    try {
      await until(signal, [kine, server], async () => (await probeReady(target, 5_000, signal)).isReady);
      return await work((method, path, body) => askCluster((dialed) => dialServer(target, dialed), method, path, body));
    } finally {
      target.close();
    }
  } finally {
    await stopAll(dir);
    await removeDirectory(app.config.data, id);
    const cgroups = await ownCgroups();
    if (isAllowed(cgroups)) await cgroups.remove(id);
  }
}

async function until(signal: AbortSignal, programs: readonly ProgramRecord[], isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + limits.readyTimeoutMs;
  while (!(await isSo())) {
    signal.throwIfAborted();
    for (const program of programs)
      if (!(await isRunning(program))) throw new ClusterError(`${program.kind} ended while it started on the restored objects`);
    if (performance.now() > deadline) throw new ClusterError('the control plane on the restored objects was not ready in time');
    await sleep(100);
  }
}
