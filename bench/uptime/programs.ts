import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Ended when the bench does. */
const running: ChildProcess[] = [];

export async function endPrograms(): Promise<void> {
  for (const child of running.splice(0).reverse()) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
}

/** One of our programs beside this file, with its first line read as JSON. */
export async function program<T>(
  name: string,
  ...args: string[]
): Promise<{ child: ChildProcess; first: T; lines: AsyncIterator<string, string> }> {
  const child = spawn(process.execPath, ['--max-semi-space-size=8', join(import.meta.dirname, name), ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  running.push(child);
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]() as AsyncIterator<string, string>;
  return { child, first: JSON.parse((await lines.next()).value) as T, lines };
}

/** Somebody else's program; null when it is not installed. */
export async function foreign(command: string, args: string[], isReady: () => Promise<boolean>): Promise<ChildProcess | null> {
  const child = spawn(command, args, { stdio: 'ignore' });
  const failed = await Promise.race([once(child, 'error').then(() => true), once(child, 'spawn').then(() => false)]);
  if (failed) return null;
  running.push(child);
  for (let tries = 0; tries < 100; tries++) {
    if (await isReady().catch(() => false)) return child;
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${command} does not answer`);
}

/** CPU time of a process so far, in microseconds: Linux counts it in hundredths of a second. */
export function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

export const residentMiB = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
