import { randomUUID } from 'node:crypto';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exitCodes, Stop } from '../../../kernel/errors.ts';
import { replaceFile } from './saved-state.ts';

/** The id under which batches are numbered. It stays with the buffer, whose batches carry its numbers. */
export interface Instance {
  readonly id: string;
  /** Where its results were seen from; '' before the first session. */
  readonly vantage: string;
}

const fileIn = (dir: string) => join(dir, 'instance.json');

export async function readInstance(dir: string): Promise<Instance> {
  const text = await readFile(fileIn(dir), 'utf8').catch(() => '');
  try {
    const { id, vantage } = JSON.parse(text) as Instance;
    if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) && typeof vantage === 'string') return { id, vantage };
  } catch {
    // Missing or damaged: a new id loses nothing but the recognition of a batch that was sent twice.
  }
  return renewInstance(dir, '');
}

export async function renewInstance(dir: string, vantage: string): Promise<Instance> {
  return writeInstance(dir, { id: randomUUID(), vantage });
}

export async function writeInstance(dir: string, instance: Instance): Promise<Instance> {
  await replaceFile(fileIn(dir), `${JSON.stringify(instance)}\n`);
  return instance;
}

/** A process by pid and, where known, start time: pids are reused. */
const processMark = async (pid: number): Promise<string> => {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return `${pid} ${stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''}`;
};

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
};

/** Makes the directory ours alone until `release`: two probers with one buffer would number their batches alike. */
export async function holdDirectory(dir: string): Promise<{ release(): Promise<void> }> {
  const path = join(dir, 'prober.pid');
  await mkdir(dir, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw new Stop(exitCodes.dataDirectory, `${dir} cannot be made (${cause.code}); name another directory with --data`, { cause });
  });
  const own = `${path}.${process.pid}`;
  for (;;) {
    try {
      // Linked after it was written: another prober never finds it without its content.
      await writeFile(own, await processMark(process.pid), { mode: 0o600 });
      await link(own, path).finally(() => rm(own, { force: true }));
      return { release: () => rm(path, { force: true }) };
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException;
      if (code !== 'EEXIST') {
        throw new Stop(exitCodes.dataDirectory, `${dir} cannot be written to (${code}); name another directory with --data`, { cause });
      }
    }
    const holder = await readFile(path, 'utf8').catch(() => '');
    const pid = Number(holder.split(' ')[0]);
    if (pid > 0 && pid !== process.pid && isAlive(pid) && (await processMark(pid)) === holder) {
      throw new Stop(
        exitCodes.alreadyRunning,
        `a prober works in ${dir} already (pid ${pid}); stop it, or name another directory with --data`,
      );
    }
    await rm(path, { force: true });
  }
}
