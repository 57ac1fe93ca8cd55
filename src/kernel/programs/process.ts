import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** Identifies one process: pids are reused, start times are not. */
export interface ProcessMark {
  pid: number;
  started: string;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Undefined: there is no such process. A zombie, in a container whose pid 1 does not reap, counts as gone. */
export async function markOf(pid: number): Promise<ProcessMark | undefined> {
  const started = process.platform === 'linux' ? await startedByProc(pid) : await startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** Constant for the life of this process. */
let bootId: string | undefined;

/** Clock ticks since the machine's boot, and the id of that boot. */
async function startedByProc(pid: number): Promise<string | undefined> {
  bootId ??= await readIfThere('/proc/sys/kernel/random/boot_id');
  const stat = await readIfThere(`/proc/${pid}/stat`);
  // The name is in parentheses and may hold anything; the fields after it contain no spaces. Field 3 is the state, 22 the start.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' || fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${bootId.trim()} ${fields[19]}`;
}

/** Where a pid of ours means what it meant to who wrote it down: one boot of one machine, and one namespace. The first namespace of every machine has the
 *  same name, and a data directory may have been copied from a machine where its server runs on. Empty: unknown. */
export async function pidSpace(): Promise<string> {
  const boot = await readIfThere('/proc/sys/kernel/random/boot_id');
  const namespace = await readlink('/proc/self/ns/pid').catch(() => '');
  return boot === '' || namespace === '' ? '' : `${boot.trim()} ${namespace}`;
}

/** Throws for every error but a missing file: with too many open files, say, no process is taken for gone. */
const readIfThere = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ESRCH') return '';
    throw error;
  });

async function startedByPs(pid: number): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-o', 'state=,lstart=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  const [state = '', ...at] = stdout.trim().split(/\s+/);
  return state === '' || state.startsWith('Z') ? undefined : at.join(' ');
}

export const isRunning = async ({ pid, started }: ProcessMark): Promise<boolean> => (await markOf(pid))?.started === started;

/** False on timeout. */
async function waitGone(mark: ProcessMark, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (await isRunning(mark)) {
    if (performance.now() > until) return false;
    await sleep(20);
  }
  return true;
}

/** Sends SIGTERM, and SIGKILL after `gentleMs`. Another process with the same pid is left alone. */
export async function endProcess(
  mark: ProcessMark,
  { gentleMs }: { gentleMs: number },
): Promise<'gone' | 'ended' | 'killed' | 'still there'> {
  if (!(await isRunning(mark))) return 'gone';
  signal(mark.pid, 'SIGTERM');
  if (await waitGone(mark, gentleMs)) return 'ended';
  signal(mark.pid, 'SIGKILL');
  return (await waitGone(mark, 10_000)) ? 'killed' : 'still there';
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
