import { ClusterError } from '../../../cluster-error.ts';
import type { EtcdKeys } from '../../../keys.ts';
import { findLastingPorts, type ProgramRecord, readRecords, stopProgram } from '../../clients/programs.ts';
import { makeGeneration, prepareStoreDir, readMembers, setAside } from '../../clients/store-directory.ts';
import { firstMembers, type MembersFile, portsPerMember } from '../../rules/etcd/members.ts';
import type { EtcdSpec } from '../../rules/programs.ts';
import type { ProcessPlane } from '../state.ts';
import { fillFromOrigin } from './origin.ts';
import type { RunningEtcd } from './state.ts';

/** The wanted generation, whose files are made first if they are not there. */
export async function openGeneration(plane: ProcessPlane, store: EtcdSpec, keys: EtcdKeys): Promise<RunningEtcd> {
  const known = plane.etcd?.generation === store.generation ? plane.etcd : undefined;
  if (!known) await setForeignAside(plane, store);
  const file = (await readMembers(store.dir)) ?? (await makeStore(plane, store, keys));
  const etcd: RunningEtcd = known ?? {
    generation: store.generation,
    dir: store.dir,
    file,
    members: new Map(),
    endpoints: [],
    startFailure: undefined,
    quotaBytes: store.quotaBytes,
    isFull: undefined,
    compacted: { revision: 0, at: Number.NEGATIVE_INFINITY },
    defragmentedAt: Number.NEGATIVE_INFINITY,
  };
  Object.assign(etcd, { file, quotaBytes: store.quotaBytes });
  if (!known && plane.etcd) plane.formerEtcds.push(plane.etcd);
  if (!known) etcd.endpoints = file.members;
  plane.etcd = etcd;
  return etcd;
}

/** Files of a generation that is still to be made are of another time: the database was set back, and gives its number again. */
async function setForeignAside({ app, parts, directory }: ProcessPlane, { dir, generation }: EtcdSpec): Promise<void> {
  if (!(await readMembers(dir)) || !(await parts.storeOrigin?.(generation))) return;
  const prefix = `etcd-${generation}-`;
  for (const record of await readRecords(directory!.dir)) if (record.name.startsWith(prefix)) await stopProgram(directory!.dir, record);
  await setAside(dir);
  app.log.warn({ cluster: parts.cluster().id, dir }, 'files of a datastore that the database does not know are set aside, and not used');
}

/** Makes the files of a generation: empty ones for a cluster that was never ready, else of what its origin gives. */
async function makeStore(plane: ProcessPlane, store: EtcdSpec, keys: EtcdKeys): Promise<MembersFile> {
  const { app, parts } = plane;
  const { id, observed_generation } = parts.cluster();
  const origin = await parts.storeOrigin?.(store.generation);
  if (!origin && (observed_generation > 0 || store.generation > 1))
    throw new ClusterError('the data of its datastore is not on the server that has to run it; the operator restores a backup');
  const storeDir = await prepareStoreDir(app.config.data, id);
  const ports = await findLastingPorts(portsPerMember * store.wantedMembers);
  const first = firstMembers(`${id}-${store.generation}`, store.wantedMembers, ports);
  const made = origin ? { ...first, members: first.members.map((each) => ({ ...each, hasStarted: true })) } : first;
  await makeGeneration(storeDir, store.generation, async (dir) => {
    if (origin) await fillFromOrigin(plane, store, keys, { origin, file: first, dir });
    return made;
  });
  return made;
}

/** Ends the connections to a member; its program runs on. */
export function forgetMember(etcd: RunningEtcd, name: string): void {
  const member = etcd.members.get(name);
  member?.unwatch?.();
  member?.client.close();
  etcd.members.delete(name);
}

/** Stops the programs of stores that the wanted one has replaced. */
export async function stopFormerGenerations({ directory, formerEtcds }: ProcessPlane, programs: readonly ProgramRecord[]): Promise<void> {
  for (const former of formerEtcds.splice(0)) closeEtcd(former);
  await Promise.all(programs.map((record) => stopProgram(directory!.dir, record)));
}

/** Ends all connections; the programs run on. */
export function closeEtcd(etcd: RunningEtcd): void {
  for (const name of [...etcd.members.keys()]) forgetMember(etcd, name);
}
