import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../../kernel/errors.ts';
import { wake } from '../../../../kernel/jobs/index.ts';
import { refuseChange } from '../../rules/phases.ts';
import * as store from '../../store/backups.ts';
import { type ClusterRow, clusterById, lockClusterById } from '../../store/clusters.ts';
import * as changes from '../../store/store-changes.ts';
import { backupsDue, clustersDue } from '../channels.ts';

// What the operator's commands ask for. A shard server does it; the commands follow the rows.

/** The operator's name for a cluster: its id, or its name where no other organization has one of that name. */
async function idOf(tx: Tx, which: string): Promise<string> {
  const found = await changes.clustersNamed(tx, which);
  const [first, second] = found;
  if (!first) return notFound(`cluster ${which} of Kubernetes’ own programs`);
  if (second) return conflict(`several clusters are named ${which}; name one by its id: ${found.map(({ id }) => id).join(', ')}`);
  return first.id;
}

const lockNamed = async (tx: Tx, which: string): Promise<ClusterRow> =>
  (await lockClusterById(tx, await idOf(tx, which))) ?? notFound(`cluster ${which}`);

const refuseUnserved = ({ name }: ClusterRow): never =>
  conflict(`no server serves cluster ${name}; start a server with the role shard that has its programs, then do this again`);

export interface AskedCluster {
  id: string;
  name: string;
  org: string;
}

const asked = ({ id, name, org_id: org }: ClusterRow): AskedCluster => ({ id, name, org });

export async function listClusterBackups(
  tx: Tx,
  which: string,
): Promise<{ cluster: AskedCluster; backups: store.BackupRow[]; failure: string | null }> {
  const cluster = (await clusterById(tx, await idOf(tx, which)))!;
  const [backups, work] = await Promise.all([store.listBackups(tx, cluster.id), store.backupWorkOf(tx, cluster.id)]);
  return { cluster: asked(cluster), backups, failure: work?.failure ?? null };
}

/** The server that serves the cluster makes one as soon as it is done with what it does. */
export async function askForBackup(tx: Tx, which: string): Promise<{ cluster: AskedCluster; newest: string | null }> {
  const cluster = await lockNamed(tx, which);
  if (!cluster.is_held) return refuseUnserved(cluster);
  if (cluster.phase !== 'ready' && cluster.phase !== 'degraded')
    return conflict(`cluster ${cluster.name} is ${cluster.phase}; a backup is made once it is ready`);
  await store.askForBackup(tx, cluster.org_id, cluster.id);
  wake(tx, backupsDue);
  return { cluster: asked(cluster), newest: (await store.newestBackup(tx, cluster.id))?.id ?? null };
}

export type Followed<T> = { is: 'waiting' } | { is: 'running'; bytes: number } | { is: 'done'; of: T } | { is: 'failed'; why: string };

/** What became of a backup that was asked for. `newest`: the one from before. */
export async function followBackup(tx: Tx, cluster: string, newest: string | null): Promise<Followed<store.BackupRow>> {
  const [made, work, making] = await Promise.all([
    store.newestBackup(tx, cluster),
    store.backupWorkOf(tx, cluster),
    store.backupInMaking(tx, cluster),
  ]);
  if (made && made.id !== newest && !work?.wanted_at) return { is: 'done', of: made };
  if (!work) return { is: 'failed', why: 'the cluster was deleted meanwhile' };
  if (work.failure !== null && work.wanted_at === null) return { is: 'failed', why: work.failure };
  return making ? { is: 'running', bytes: making.bytes } : { is: 'waiting' };
}

/** A change that a cluster can begin now; another one that is under way, a restore too, is 409. */
function refuseBusy(cluster: ClusterRow): void {
  const busy = refuseChange(cluster.name, cluster.phase, cluster.change);
  if (busy) conflict(busy);
  if (!cluster.is_held) refuseUnserved(cluster);
}

async function refuseOlderServers(tx: Tx): Promise<void> {
  if (await changes.hasOlderShards(tx))
    conflict('a server with the role shard is of an earlier release, and would not find the new store; upgrade it first');
}

/** The backup that a restore takes: the named one, or the newest. */
export async function chooseBackup(
  tx: Tx,
  which: string,
  at: string | undefined,
): Promise<{ cluster: AskedCluster; backup: store.BackupRow }> {
  const cluster = (await clusterById(tx, await idOf(tx, which)))!;
  const backup = at === undefined ? await store.newestBackup(tx, cluster.id) : await store.findBackup(tx, at);
  if (!backup)
    return conflict(
      at === undefined
        ? `cluster ${cluster.name} has no backup yet; quarterdeck admin clusters backups take ${which} makes one`
        : `there is no backup ${at}; quarterdeck admin clusters backups list ${which} shows those of the cluster`,
    );
  if (backup.cluster_id !== cluster.id)
    return conflict(`the backup ${backup.id} is of another cluster, and cannot be restored into ${cluster.name}`);
  if (backup.state !== 'complete') return conflict(`the backup ${backup.id} is not complete; choose another one`);
  return { cluster: asked(cluster), backup };
}

/** The cluster goes on with its objects until those of the backup answer. */
export async function askForRestore(tx: Tx, which: string, at: string): Promise<{ cluster: AskedCluster; generation: number }> {
  const cluster = await lockNamed(tx, which);
  refuseBusy(cluster);
  await refuseOlderServers(tx);
  const { backup } = await chooseBackup(tx, cluster.id, at);
  if (cluster.store === 'kine' && backup.store === 'etcd')
    return conflict(`the backup ${backup.id} is of an etcd, and cluster ${cluster.name} is on kine; choose another one`);
  const what = `restore of the backup ${backup.id} of ${backup.at}`;
  const { generation } = await changes.beginChange(tx, cluster, { kind: 'restore', store: cluster.store, backup: backup.id, what });
  wake(tx, clustersDue);
  return { cluster: asked(cluster), generation };
}

/** For clusters that were accepted as dedicated before there was an etcd for them. */
export async function askForMove(tx: Tx, which: string): Promise<{ cluster: AskedCluster; generation: number }> {
  const cluster = await lockNamed(tx, which);
  if (cluster.datastore.mode !== 'dedicated')
    return conflict(
      `cluster ${cluster.name} asked for a shared datastore, and has it; only dedicated ones are moved to an etcd of their own`,
    );
  if (cluster.store === 'etcd') return conflict(`cluster ${cluster.name} has an etcd of its own already`);
  refuseBusy(cluster);
  await refuseOlderServers(tx);
  if (!(await changes.isEtcdThere(tx)))
    return conflict('no server with the role shard has etcd; quarterdeck admin clusters install brings it, then do this again');
  const { generation } = await changes.beginChange(tx, cluster, {
    kind: 'move',
    store: 'etcd',
    backup: null,
    what: 'move of the datastore to an etcd of its own',
  });
  wake(tx, clustersDue);
  return { cluster: asked(cluster), generation };
}

/** What became of a restore or a move. */
export async function followChange(tx: Tx, cluster: string, generation: number): Promise<Followed<undefined>> {
  const change = await changes.findChange(tx, cluster, generation);
  if (!change) return { is: 'failed', why: 'the cluster was deleted meanwhile' };
  if (change.state === 'done') return { is: 'done', of: undefined };
  if (change.state === 'failed') return { is: 'failed', why: change.failure ?? '' };
  return change.state === 'wanted' ? { is: 'waiting' } : { is: 'running', bytes: change.bytes };
}
