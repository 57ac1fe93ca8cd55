import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

/** One process and no other: numbers are given again, the moment of a start is not. */
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

/** Undefined: there is no such process. A zombie, in a container whose pid 1 reaps nobody, counts as gone. */
export async function markOf(pid: number): Promise<ProcessMark | undefined> {
  const started = process.platform === 'linux' ? await startedByProc(pid) : await startedByPs(pid);
  return started === undefined ? undefined : { pid, started };
}

/** It stays as long as we do. */
let bootId: string | undefined;

/** Clock ticks since the machine's start, and which start of the machine that was. */
async function startedByProc(pid: number): Promise<string | undefined> {
  bootId ??= await readIfThere('/proc/sys/kernel/random/boot_id');
  const stat = await readIfThere(`/proc/${pid}/stat`);
  // The name stands in parentheses and may hold anything; what follows has no such places. Field 3 is the state, 22 the start.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return stat === '' || fields[0] === 'Z' || fields[0] === 'X' ? undefined : `${bootId.trim()} ${fields[19]}`;
}

/** Throws for anything else than that it is not there: with too many files open, say, nobody is taken for gone. */
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

/** False when the time is up first. */
async function waitGone(mark: ProcessMark, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  while (await isRunning(mark)) {
    if (performance.now() > until) return false;
    await sleep(20);
  }
  return true;
}

/** Asks a process to end, and makes it when it does not. A process that only has the same number is left alone. */
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
