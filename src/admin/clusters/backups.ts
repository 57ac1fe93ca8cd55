import { setTimeout as sleep } from 'node:timers/promises';
import { forTerminal, tell } from '../../../cli/tell.ts';
import {
  askForBackup,
  askForMove,
  askForRestore,
  chooseBackup,
  type Followed,
  followBackup,
  followChange,
  listClusterBackups,
} from '../../areas/clusters/index.ts';
import { audit, operator } from '../../identity/audit.ts';
import type { Db, Tx } from '../../kernel/db/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { isAgreed } from '../agree.ts';
import { bytes, type OutputOptions, printJson, printTable } from '../output.ts';
import { type Progress, withProgress } from '../progress.ts';
import type { Session } from '../session.ts';

export async function listBackups({ db }: Session, which: string, options: OutputOptions): Promise<void> {
  const { cluster, backups, failure } = await db.read((tx) => listClusterBackups(tx, which));
  const listed = backups.map(({ id, at, store, version, objects, bytes: size, checked_at, check_failure, check_postponed }) => ({
    backup: id,
    at,
    store,
    version,
    objects,
    bytes: size,
    checkedAt: checked_at,
    problem: check_failure,
    postponed: check_postponed,
  }));
  if (options.json) return printJson({ cluster: { id: cluster.id, name: cluster.name }, backups: listed, failure });
  printTable(
    listed.map(({ bytes: size, checkedAt, problem, postponed, ...each }) => ({
      ...each,
      size: bytes(size),
      restored: problem === null ? (checkedAt ?? (postponed === null ? 'not tried yet' : `not yet: ${postponed}`)) : `FAILED: ${problem}`,
    })),
    `cluster ${cluster.name} has no backup yet`,
  );
  if (failure !== null) tell(`the last one failed: ${failure}`);
}

export async function takeClusterBackup({ db }: Session, which: string, options: OutputOptions): Promise<void> {
  const { cluster, newest } = await db.write(async (tx) => {
    const asked = await askForBackup(tx, which);
    await audit(tx, operator(asked.cluster.org), 'clusters.backup.take', { id: asked.cluster.id }, { cluster: asked.cluster.name });
    return asked;
  });
  const made = await withProgress((progress) =>
    follow(db, progress, { label: 'copying objects' }, (tx) => followBackup(tx, cluster.id, newest)),
  );
  if (options.json) return printJson({ backup: made.id, at: made.at, objects: made.objects, bytes: made.bytes });
  console.log(forTerminal(`${made.id} holds the ${made.objects} objects of ${cluster.name}, ${bytes(made.bytes)}`, process.stdout));
}

interface RestoreOptions extends OutputOptions {
  at?: string;
  yes?: true;
}

export async function restoreCluster({ db }: Session, which: string, options: RestoreOptions): Promise<void> {
  const { cluster, backup } = await db.read((tx) => chooseBackup(tx, which, options.at));
  const question = `Everything in ${cluster.name} that is newer than ${backup.at} will be lost. Restore ${backup.id} with ${backup.objects} objects?`;
  if (!options.yes && !(await isAgreed(question)))
    throw new Stop(
      exitCodes.refused,
      `nothing was restored; what is newer than ${backup.at} would be lost: give --yes to restore ${backup.id}`,
    );
  const { generation } = await db.write(async (tx) => {
    const asked = await askForRestore(tx, cluster.id, backup.id);
    await audit(tx, operator(cluster.org), 'clusters.cluster.restore', { id: cluster.id }, { cluster: cluster.name, backup: backup.id });
    return asked;
  });
  const work = { label: 'restoring objects', total: backup.bytes, afterwards: 'waiting for its control plane' };
  await withProgress((progress) => follow(db, progress, work, (tx) => followChange(tx, cluster.id, generation)));
  if (options.json) return printJson({ cluster: cluster.name, backup: backup.id, at: backup.at, objects: backup.objects });
  console.log(forTerminal(`${cluster.name} has the ${backup.objects} objects of ${backup.at} again`, process.stdout));
}

export async function moveDatastore({ db }: Session, which: string, options: { yes?: true }): Promise<void> {
  const question = `Requests to ${which} wait, or are told to come again, for the seconds that its objects are copied. Move it?`;
  if (!options.yes && !(await isAgreed(question)))
    throw new Stop(exitCodes.refused, 'nothing was moved; requests would wait for some seconds: give --yes to move it');
  const { cluster, generation } = await db.write(async (tx) => {
    const asked = await askForMove(tx, which);
    await audit(tx, operator(asked.cluster.org), 'clusters.datastore.move', { id: asked.cluster.id }, { cluster: asked.cluster.name });
    return asked;
  });
  await withProgress((progress) => follow(db, progress, { label: 'moving objects' }, (tx) => followChange(tx, cluster.id, generation)));
  console.log(`${cluster.name} has an etcd of its own`);
}

const pollMs = 500;

interface Work {
  label: string;
  total?: number;
  /** Once all of `total` is there. */
  afterwards?: string;
}

/** A shard server does the work; an interrupted command leaves it to that. */
async function follow<T>(db: Db, progress: Progress, work: Work, look: (tx: Tx) => Promise<Followed<T>>): Promise<T> {
  progress.begin('waiting for the server that serves it');
  let told = 0;
  let shown: string | undefined;
  const show = (label: string, total?: number) => {
    if (shown !== label) progress.begin(label, total);
    shown = label;
  };
  for (;;) {
    const found = await db.read(look);
    if (found.is === 'done') return found.of;
    if (found.is === 'failed') throw new Stop(exitCodes.refused, found.why);
    if (found.is === 'running') {
      const isThere = work.afterwards !== undefined && work.total !== undefined && found.bytes >= work.total;
      show(isThere ? work.afterwards! : work.label, isThere ? undefined : work.total);
      progress.add(found.bytes - told);
      told = found.bytes;
    }
    await sleep(pollMs);
  }
}
