import { constants } from 'node:fs';
import { access, appendFile, mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type CgroupLimits,
  controllers,
  findOwnDirectory,
  limitFileContents,
  limitFiles,
  missingControllers,
  parseLimits,
  parseOomKills,
} from '../rules/cgroup.ts';

// A cgroup with limited children cannot hold processes itself. So the server moves into a cgroup beside those of the clusters:
//   <delegated cgroup>/quarterdeck-server          the server and PostgreSQL
//   <delegated cgroup>/quarterdeck-clusters/<id>   the programs of a cluster

const serverName = 'quarterdeck-server';
const clustersName = 'quarterdeck-clusters';

/** The cgroup of one cluster. */
export interface Cgroup {
  /** The present limits. */
  walls(): Promise<CgroupLimits>;
  /** Sets the limits. */
  bound(walls: CgroupLimits): Promise<void>;
  /** Moves a process in; no change if it is already there. */
  enter(pid: number): Promise<void>;
  /** OOM kills in this cgroup so far. */
  memoryKills(): Promise<number>;
}

export interface Cgroups {
  /** Created if it does not exist. */
  keep(cluster: string): Promise<Cgroup>;
  /** Does nothing while a process is in it; the next sweep tries again. */
  remove(cluster: string): Promise<void>;
  list(): Promise<string[]>;
}

/** Why programs run without a cgroup. */
export interface CgroupsUnavailable {
  why: string;
}

export type CgroupSupport = Cgroups | CgroupsUnavailable;
export const isAllowed = (found: CgroupSupport): found is Cgroups => !('why' in found);

let detecting: Promise<CgroupSupport> | undefined;
let detected: CgroupSupport | undefined;

/** Detects and prepares the cgroups of this process, once. */
export function ownCgroups(): Promise<CgroupSupport> {
  detecting ??= findCgroups()
    .catch((error: NodeJS.ErrnoException) => ({ why: `the kernel refused it (${error.code ?? error.message})` }))
    .then((all) => {
      detected = all;
      return all;
    });
  return detecting;
}

/** Undefined before the first process cluster, which triggers the detection. */
export const detectedCgroups = (): CgroupSupport | undefined => detected;

const readText = (path: string) => readFile(path, 'utf8');

async function findCgroups(): Promise<CgroupSupport> {
  const [cgroup, mountinfo] = await Promise.all(['cgroup', 'mountinfo'].map((name) => readText(`/proc/self/${name}`).catch(() => '')));
  const own = findOwnDirectory(cgroup!, mountinfo!);
  if (own === undefined) return { why: 'this machine shows the server no cgroup v2' };
  // systemd's DelegateSubgroup puts the server into its own cgroup already.
  const given = basename(own) === serverName ? dirname(own) : own;
  const lacking = missingControllers(await readText(join(given, 'cgroup.controllers')));
  if (lacking.length > 0) return { why: `the server’s cgroup has no ${lacking.join(' and no ')} controller` };
  const writable = await Promise.all(['cgroup.procs', 'cgroup.subtree_control'].map((name) => mayWrite(join(given, name))));
  if (!writable.every(Boolean)) return { why: 'the server’s cgroup is not given to it (Delegate=yes in a unit of systemd)' };
  if (given === own && !(await moveServer(own)))
    return { why: `others are in the server’s cgroup (DelegateSubgroup=${serverName} in a unit of systemd)` };
  const all = join(given, clustersName);
  await mkdir(all, { recursive: true });
  for (const dir of [given, all]) await delegateControllers(dir);
  return makeCgroups(all);
}

const mayWrite = (path: string) =>
  access(path, constants.W_OK).then(
    () => true,
    () => false,
  );

/** Moves the server and its child processes into a cgroup of their own. False: foreign processes are there, which must not be moved. */
async function moveServer(own: string): Promise<boolean> {
  const pids = (await readText(join(own, 'cgroup.procs'))).split('\n').filter(Boolean).map(Number);
  const parents = new Map(await Promise.all(pids.map(async (pid) => [pid, await parentOf(pid)] as const)));
  const isOurs = (pid: number): boolean => {
    // A process has fewer ancestors here than there are processes.
    for (let at: number | undefined = pid, left = pids.length; at !== undefined && left >= 0; at = parents.get(at), left--)
      if (at === process.pid) return true;
    return false;
  };
  // 0 stands for a process of another PID namespace; a process without a parent has exited meanwhile.
  if (!pids.every((pid) => pid !== 0 && (isOurs(pid) || parents.get(pid) === undefined))) return false;
  const to = join(own, serverName);
  await mkdir(to, { recursive: true });
  for (const pid of pids) await enter(to, pid);
  return true;
}

/** Undefined: it has exited. */
async function parentOf(pid: number): Promise<number | undefined> {
  const stat = await readText(`/proc/${pid}/stat`).catch(() => '');
  return stat === '' ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

/** A process that has exited meanwhile is ignored. */
const enter = (dir: string, pid: number): Promise<void> =>
  appendFile(join(dir, 'cgroup.procs'), `${pid}\n`).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ESRCH') throw error;
  });

/** Enables the controllers for child cgroups. */
async function delegateControllers(dir: string): Promise<void> {
  const path = join(dir, 'cgroup.subtree_control');
  const missing = missingControllers(await readText(path).catch(() => ''));
  if (missing.length > 0) await writeFile(path, controllers.map((name) => `+${name}`).join(' '));
}

const makeCgroups = (all: string): Cgroups => ({
  async keep(cluster) {
    const dir = join(all, cluster);
    await mkdir(dir, { recursive: true });
    const read = (name: string) => readText(join(dir, name)).catch(() => '');
    return {
      walls: async () => parseLimits(await Promise.all(limitFiles.map(read))),
      async bound(walls) {
        for (const [name, value] of limitFileContents(walls)) await writeFile(join(dir, name), value);
      },
      enter: (pid) => enter(dir, pid),
      memoryKills: async () => parseOomKills(await read('memory.events')),
    };
  },
  remove: (cluster) =>
    rmdir(join(all, cluster)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'EBUSY') throw error;
    }),
  list: async () => (await readdir(all, { withFileTypes: true })).filter((each) => each.isDirectory()).map(({ name }) => name),
});
