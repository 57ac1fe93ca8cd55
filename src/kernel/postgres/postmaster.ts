import { execFile } from 'node:child_process';
import { link, readdir, readFile, readlink, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { isAlive } from '../programs/process.ts';
import type { PostgresPaths } from './paths.ts';

/** A live server, from its postmaster.pid. */
export interface Postmaster {
  pid: number;
  port: number;
  socketDir: string;
}

/** The server that runs on this cluster now, or undefined. Its socket directory is empty while it has not opened one yet. */
export async function findPostmaster(paths: PostgresPaths): Promise<Postmaster | undefined> {
  const [pid, , , port, socketDir] = (await pidFile(paths)).split('\n');
  if (!(Number(pid) > 0 && (await isPostmaster(Number(pid), paths.cluster)))) return undefined;
  return { pid: Number(pid), port: Number(port) || 5432, socketDir: socketDir ?? '' };
}

const pidFile = (paths: PostgresPaths): Promise<string> => readFile(join(paths.cluster, 'postmaster.pid'), 'utf8').catch(() => '');

/**
 * A postmaster.pid of a dead process is left alone: PostgreSQL looks for survivors of that server before it replaces the file. Only a pid
 * that now belongs to another program is removed, because PostgreSQL would refuse for as long as that one runs. The file is moved aside
 * first and read again: a competing start may have written a live server's file since.
 */
export async function dropStalePid(paths: PostgresPaths): Promise<void> {
  const staleText = await pidFile(paths);
  const pid = Number(staleText.split('\n')[0]);
  if (!(pid > 0) || !isAlive(pid) || (await isPostmaster(pid, paths.cluster))) return;
  const file = join(paths.cluster, 'postmaster.pid');
  const aside = `${file}.stale-${process.pid}`;
  try {
    await rename(file, aside);
    if ((await readFile(aside, 'utf8')) !== staleText) await link(aside, file).catch(() => {});
    await rm(aside, { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/**
 * Whether this pid is a PostgreSQL process of this cluster. Its working directory is the cluster and follows it when it is moved. A zombie
 * (in a container whose pid 1 does not reap) has none, and rightly counts as gone.
 */
export async function isPostmaster(pid: number, cluster: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    const { stdout } = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
    return stdout.includes('postgres') && stdout.includes(cluster);
  }
  const [cwd, comm] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch((error: NodeJS.ErrnoException) => error.code ?? ''),
    readFile(`/proc/${pid}/comm`, 'utf8').catch(() => ''),
  ]);
  return comm.trim() === 'postgres' && (cwd === cluster || (cwd === 'EACCES' && (await isStartedOn(pid, cluster))));
}

/**
 * A service with a capability of its own (systemd's AmbientCapabilities) hides where its processes are from a command without it, also of the
 * same user. What they were started with anyone may read.
 */
async function isStartedOn(pid: number, cluster: string): Promise<boolean> {
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0');
  return words[words.indexOf('-D') + 1] === cluster;
}

/** Processes of a killed server that have not noticed yet; they keep its shared memory, and delay the next server. */
export async function survivors(cluster: string): Promise<number[]> {
  if (process.platform !== 'linux') return [];
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const ours = await Promise.all(pids.map((pid) => isPostmaster(pid, cluster)));
  return pids.filter((_, at) => ours[at]);
}

/** Waits until the process is no longer this cluster's server; false on timeout. */
export async function waitGone(pid: number, cluster: string, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (await isPostmaster(pid, cluster)) {
    if (performance.now() > until) return false;
    await sleep(10);
  }
  return true;
}

/**
 * Fast shutdown: transactions roll back, a checkpoint is written. Immediate only when that takes too long; then the next start recovers.
 */
export async function shutDown(
  pid: number,
  cluster: string,
  bounds: { fastMs: number; immediateMs: number },
): Promise<'fast' | 'immediate' | 'still there'> {
  if (!(await isPostmaster(pid, cluster))) return 'fast';
  process.kill(pid, 'SIGINT');
  if (await waitGone(pid, cluster, bounds.fastMs)) return 'fast';
  process.kill(pid, 'SIGQUIT');
  return (await waitGone(pid, cluster, bounds.immediateMs)) ? 'immediate' : 'still there';
}
