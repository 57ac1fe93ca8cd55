import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, realpath, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { settleMigrated } from '../../../../test/harness/postgres.ts';
import { quickFlags } from '../../../../test/harness/quick-start.ts';
import type { LockOptions } from '../../data/server-lock.ts';
import { type EmbeddedConnection, type EmbeddedPostgres, keepPostgres } from '../index.ts';
import { pathsIn } from '../paths.ts';
import { findPostmaster, shutDown } from '../postmaster.ts';

export const isRoot = process.getuid?.() === 0;

interface Scratch {
  /** The data directory below it. */
  below?: string;
  /** With a database from an earlier start: for tests that are not about the first start. */
  isMade?: boolean;
  /** Programs are run from it. */
  isForPrograms?: boolean;
}

/** In memory, so that syncs cost nothing and nothing survives the test. But no program may be run from there. */
async function memoryDir(): Promise<string> {
  const found = await statfs('/dev/shm').catch(() => undefined);
  return found && found.bavail * found.bsize >= 2 ** 30 ? '/dev/shm' : tmpdir();
}

/** A directory that every user may enter; a server left in `data` below it ends with the test. */
export async function scratch(t: TestContext, options: Scratch = {}): Promise<{ dir: string; dataDir: string }> {
  const { below = 'data', isMade = false, isForPrograms = false } = options;
  const dir = await realpath(await mkdtemp(join(isForPrograms ? tmpdir() : await memoryDir(), 'qd-keeper-')));
  await chmod(dir, 0o755);
  const dataDir = join(dir, below);
  t.after(async () => {
    await endServer(dataDir);
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  });
  if (isMade) {
    await mkdir(dirname(dataDir), { recursive: true });
    await settleMigrated(dataDir);
  }
  return { dir, dataDir };
}

async function endServer(dataDir: string): Promise<void> {
  const place = await pathsIn(dataDir).catch(() => undefined);
  const server = place && (await findPostmaster(place));
  if (server) await shutDown(server.pid, place.cluster, { fastMs: 2_000, immediateMs: 8_000 });
}

export async function keep(t: TestContext, dataDir: string, settings?: Record<string, string>): Promise<EmbeddedPostgres> {
  const kept = await keepPostgres({ dataDir, settings });
  t.after(() => kept.stop());
  return kept;
}

export interface KeeperProcess {
  process: ChildProcess;
  said: Promise<{ kept: boolean; adopted?: boolean; postgres?: number; exitCode?: number; sentence?: string }>;
  killed(): Promise<void>;
}

export interface KeeperOptions {
  /** Runs it like another container: it sees no other process, and no shared memory of other processes. */
  isInNamespace?: boolean;
  locking?: LockOptions;
  env?: Record<string, string>;
}

const inNamespace = ['unshare', '--pid', '--ipc', '--mount-proc', '--fork', '--kill-child'];

/** The reason, where this machine does not allow it. */
export const noNamespaces =
  spawnSync(inNamespace[0]!, [...inNamespace.slice(1), 'true'], { stdio: 'ignore' }).status === 0
    ? false
    : 'this user may not make namespaces (unshare)';

/** Not ended by the test's own end: each test says what becomes of it, and a leftover is killed. */
export function keeperProcess(t: TestContext, dataDir: string, options: KeeperOptions = {}): KeeperProcess {
  const { isInNamespace = false, locking = {}, env = {} } = options;
  const program = [process.execPath, ...quickFlags, join(import.meta.dirname, 'keeper-process.ts'), dataDir, JSON.stringify(locking)];
  const [first, ...args] = isInNamespace ? [...inNamespace, ...program] : program;
  const child = spawn(first!, args, { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...env } });
  const gone = once(child, 'exit');
  const killed = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    await gone;
  };
  t.after(killed);
  const said = once(createInterface({ input: child.stdout }), 'line').then(([line]) => JSON.parse(line as string));
  return { process: child, said, killed };
}

export async function query(connection: EmbeddedConnection, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client(connection);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** The uid a process really has, as the machine outside any namespace sees it. */
export async function uidOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^Uid:\s+(\d+)/m.exec(status)?.[1]);
}
