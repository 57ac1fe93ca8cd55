import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { ClusterError } from '../../cluster-error.ts';
import type { CopyCount, DrivenCluster, StoreCopy, StoreKind } from '../../driver.ts';
import { askCluster } from '../clients/ask.ts';
import { isAllowed, ownCgroups } from '../clients/cgroup.ts';
import { dialServer, isListening, makeTarget } from '../clients/dial.ts';
import { prepareDirectory, removeDirectory } from '../clients/directory.ts';
import type { EtcdClient } from '../clients/etcd.ts';
import { isRunning, ownerVariable, type ProgramRecord, stopAll } from '../clients/programs.ts';
import { cgroupLimitsOf } from '../rules/cgroup.ts';
import { copyMs } from '../rules/copy-limits.ts';
import { folderOf } from '../rules/count-objects.ts';
import type { MemberRecord } from '../rules/etcd/members.ts';
import * as rules from '../rules/programs.ts';
import { checkSchemaOf, countFolders, dropBatch, findSchema } from '../store/kine.ts';
import { loadCopy } from '../store/kine-copy.ts';
import { openDatabaseSocket } from './apply.ts';
import { countObjects, type Read } from './count-objects.ts';
import { describeRun } from './describe-run.ts';
import { ensureProgram } from './ensure-program.ts';
import { withScratchEtcd } from './etcd/scratch.ts';
import { objectKeys } from './etcd/snapshot.ts';
import { openKineStore, whileDatabaseHasRoom } from './kine-store.ts';
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
    return await (copy.kind === 'kine' ? checkKineCopy(app, plane, copy, signal) : checkEtcdCopy(plane, copy, signal));
  } finally {
    running.delete(id);
  }
}

/** The cluster as a check runs it: `cluster` is read once. */
export const clusterOfCheck = (cluster: DrivenCluster, store: StoreKind): DrivenCluster => ({
  ...cluster,
  store,
  id: checkNameOf(cluster.id),
  tier: tierOfCheck(cluster.tier),
  replicas: 1,
});

async function checkKineCopy(app: App, plane: ProcessPlane, copy: StoreCopy, signal: AbortSignal): Promise<CopyCount> {
  const { bytes = 0 } = copy;
  const { id } = plane.parts.cluster();
  const schema = checkSchemaOf(id.replace(/-check$/, ''));
  const { storeKey } = plane.parts.pki.inner!;
  await dropNow(app, schema);
  try {
    const content = await whileDatabaseHasRoom(app, copy);
    const stored = await loadCopy(app.connection, schema, { content, revision: copy.revision + 1, signal });
    await openKineStore(app, schema, storeKey);
    return await withDirectory(plane, schema, async (run) => {
      if (run.store.kind !== 'kine') throw new Error('a copy of a kine is checked on a kine');
      const { socket } = run.store;
      const kine = await ensureProgram(plane, rules.wantKine(run, run.store));
      await until(signal, [kine], () => isListening(socket), limits.readyTimeoutMs);
      const folders = () => app.db.read((tx) => countFolders(tx, schema));
      return { stored, ...(await countByApiserver(plane, run, { endpoints: [], beside: [kine], folders, bytes, signal })) };
    });
  } finally {
    await dropNow(app, schema).catch((error) =>
      app.log.warn({ err: error, schema }, 'what a check of a backup left is dropped by the sweep'),
    );
  }
}

async function checkEtcdCopy(plane: ProcessPlane, copy: StoreCopy, signal: AbortSignal): Promise<CopyCount> {
  const keys = plane.parts.pki.inner!.etcd;
  if (!keys) throw new Error('the cluster has no keys for etcd');
  return withDirectory(plane, '', async (run) => {
    if (run.store.kind !== 'etcd') throw new Error('a copy of an etcd is checked on an etcd');
    const { dir: own, workDir, identity } = plane.directory!;
    const dir = join(own, 'etcd');
    await mkdir(dir, { mode: 0o711 });
    const { programs, quotaBytes } = run.store;
    const scratch = { programs, keys, identity, quotaBytes, dir, cwd: workDir, env: { [ownerVariable]: own }, copies: 0, signal };
    const { bytes, revision } = copy;
    const content = { kind: 'snapshot' as const, content: Readable.from(copy.content, { objectMode: false }), bytes, revision };
    return withScratchEtcd(scratch, content, async (client, member) => {
      const { count: stored } = await client.range({ ...objectKeys, countOnly: true, revision });
      const counted = await countByApiserver(plane, run, {
        endpoints: [member],
        beside: [],
        folders: () => foldersOf(client),
        bytes: bytes ?? 0,
        signal,
      });
      return { stored, ...counted };
    });
  });
}

const keysPerPage = 1_000;

async function foldersOf(client: EtcdClient): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  let { key } = objectKeys;
  for (;;) {
    const { pairs } = await client.range({ key, end: objectKeys.end, limit: keysPerPage, keysOnly: true });
    for (const pair of pairs) {
      const folder = folderOf(pair.key.toString());
      found.set(folder, (found.get(folder) ?? 0) + 1);
    }
    if (pairs.length < keysPerPage) return found;
    key = Buffer.concat([pairs.at(-1)!.key, Buffer.from([0])]);
  }
}

async function dropNow(app: App, schema: string): Promise<void> {
  if (!(await app.db.read((tx) => findSchema(tx, schema)))) return;
  let why: string | undefined;
  for (let n = 0; n === 0 || (why !== undefined && n < limits.dropBatches); n++) why = await app.db.write((tx) => dropBatch(tx, schema));
  if (why !== undefined) throw new Error(`the schema ${schema} cannot be dropped: ${why}`);
}

/** The directory, user and cgroup of the check, and what its programs are started with. */
async function withDirectory<T>(plane: ProcessPlane, schema: string, work: (run: rules.RunSpec) => Promise<T>): Promise<T> {
  const { app, parts } = plane;
  const cluster = parts.cluster();
  plane.directory = await prepareDirectory(app.config.data, cluster.id, app.config.cluster_users);
  const { dir } = plane.directory;
  const { caCertificate, caKey, accountKey, inner } = parts.pki;
  const cgroups = await ownCgroups();
  try {
    await stopAll(dir);
    await openDatabaseSocket(plane);
    if (isAllowed(cgroups)) {
      plane.cgroup = await cgroups.keep(cluster.id);
      await plane.cgroup.bound(cgroupLimitsOf(cluster));
    }
    return await work(await describeRun(plane, { ca: { certificate: caCertificate, key: caKey }, accountKey, inner: inner! }, schema));
  } finally {
    await stopAll(dir);
    await removeDirectory(app.config.data, cluster.id);
    if (isAllowed(cgroups)) await cgroups.remove(cluster.id);
  }
}

interface Counting {
  /** Members of its etcd. */
  endpoints: readonly MemberRecord[];
  /** Programs that it cannot do without. */
  beside: readonly ProgramRecord[];
  folders: () => Promise<ReadonlyMap<string, number>>;
  /** Of the copy. */
  bytes: number;
  signal: AbortSignal;
}

async function countByApiserver(plane: ProcessPlane, run: rules.RunSpec, { endpoints, beside, folders, bytes, signal }: Counting) {
  const server = await ensureProgram(plane, rules.wantApiservers(run, endpoints)[0]!);
  const target = makeTarget(server.port, plane.parts.pki.inner!);
  try {
    const isReady = async () => (await probeReady(target, 5_000, signal)).isReady;
    await until(signal, [...beside, server], isReady, copyMs(limits.readyTimeoutMs, bytes));
    const read: Read = (path, wanted) => askCluster((dialed) => dialServer(target, dialed), 'GET', path, undefined, wanted);
    return await countObjects(read, folders, signal);
  } finally {
    target.close();
  }
}

async function until(
  signal: AbortSignal,
  programs: readonly ProgramRecord[],
  isSo: () => Promise<boolean>,
  timeoutMs: number,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isSo())) {
    signal.throwIfAborted();
    for (const program of programs)
      if (!(await isRunning(program))) throw new ClusterError(`${program.kind} ended while it started on the restored objects`);
    if (performance.now() > deadline) throw new ClusterError('the control plane on the restored objects was not ready in time');
    await sleep(100);
  }
}
