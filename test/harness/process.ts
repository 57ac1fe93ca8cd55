import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, readlink, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathsIn } from '../../src/kernel/postgres/paths.ts';
import { findPostmaster, shutDown } from '../../src/kernel/postgres/postmaster.ts';
import { mainProgram, sourceProgram } from './built.ts';
import { ownPorts } from './own-ports.ts';
import { settleMigrated } from './postgres.ts';
import { quickFlags } from './quick-start.ts';
import { type Caller, caller } from './request.ts';

/**
 * A directory that everyone may enter (as root, PostgreSQL runs as somebody else); a server left in `data` below it ends with the test.
 * There is nothing in it, for those who start a first time, or a migrated database, for those who ask about what comes after.
 */
export async function scratch(t: TestContext, { isMigrated = false } = {}): Promise<{ dir: string; dataDir: string }> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qdp-')));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  t.after(async () => {
    await endPostgres(dataDir);
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  });
  if (isMigrated) await settleMigrated(dataDir);
  return { dir, dataDir };
}

/** Processes whose working directory is below this one, which may be gone by then. Linux alone tells. */
export async function processesBelow(dir: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const places = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => '')));
  return pids.filter((_, n) => places[n]!.startsWith(`${dir}/`)).map(Number);
}

/** A killed server leaves the programs of its clusters to the next server. After a test there is none. */
async function endPrograms(dataDir: string): Promise<void> {
  for (const pid of await processesBelow(join(dataDir, 'clusters', 'run'))) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {} // it has ended by itself
  }
}

/** The embedded server of a data directory: its pid, or undefined when none runs. */
export async function postgresOf(dataDir: string): Promise<number | undefined> {
  const place = await pathsIn(dataDir).catch(() => undefined);
  return place && (await findPostmaster(place))?.pid;
}

async function endPostgres(dataDir: string): Promise<void> {
  const pid = await postgresOf(dataDir);
  if (pid) await shutDown(pid, (await pathsIn(dataDir)).cluster, { fastMs: 3_000, immediateMs: 8_000 });
}

export interface ServerProcess {
  pid: number;
  /** Resolves with the URL once the banner is printed; rejects with what it said when it ends first. */
  ready: Promise<string>;
  /** From the spawn until the banner, once ready. */
  readyMs(): number;
  exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  stdout(): string;
  stderr(): string;
  signal(name: NodeJS.Signals): void;
  /** kill -9, and gone when this resolves. */
  killed(): Promise<void>;
  /** SIGTERM, and gone when this resolves; the exit code. */
  stopped(): Promise<number | null>;
  /** With `data/owner.token`, as the command line beside it would. */
  owner(): Promise<Caller & { key: string }>;
}

export interface ProcessOptions {
  dir: string;
  dataDir?: string;
  env?: Record<string, string>;
  args?: string[];
  nodeFlags?: string[];
  /** Loaded before the program. It imports nothing of ours: the program may be one that has been joined into a few files. */
  preload?: string;
  /** A program of a test instead of the whole server. It prints its URL first, and ends with its input. */
  program?: string;
  /** A checkout of another version, installed; this one by default. */
  checkout?: string;
}

/** The real program as a process of its own, on a port that the system chooses; ended with the test if it is still there. */
export function serverProcess(t: TestContext, options: ProcessOptions): ServerProcess {
  const { server, end } = startServer(options);
  t.after(end);
  return server;
}

/** With a young generation of this size a start takes 5 to 9 % less CPU. Tests that measure bring flags of their own. */
const roomForAStart = ['--min-semi-space-size=16', '--max-semi-space-size=16'];

/** For programs that are no tests: whoever starts it ends it. */
export function startServer(options: ProcessOptions): { server: ServerProcess; end(): Promise<void> } {
  const { dir, dataDir = join(dir, 'data'), env = {}, args = ['serve'], nodeFlags = [], preload, checkout, program } = options;
  // What hooks imports needs the sources; so does another version.
  const main = checkout ? join(checkout, 'src', 'main.ts') : nodeFlags.length ? sourceProgram : mainProgram();
  const began = performance.now();
  let readyAt = 0;
  const child = spawn(
    process.execPath,
    [
      ...quickFlags,
      ...(nodeFlags.length ? nodeFlags : roomForAStart),
      ...(preload ? [`--import=${preload}`] : []),
      program ?? main,
      ...args,
    ],
    {
      cwd: dir, // no quarterdeck.toml of anybody's
      stdio: [program ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      env: {
        ...ordinary(),
        QUARTERDECK_DATA: dataDir,
        ...ownPorts,
        QUARTERDECK_DNS_SERVERS: '127.0.0.1:1',
        QUARTERDECK_RATE_LIMIT: '0',
        QUARTERDECK_STOP_NOTICE_SECONDS: '0',
        ...env,
      },
    },
  );
  const said = { stdout: '', stderr: '' };
  child.stdout!.setEncoding('utf8').on('data', (text) => (said.stdout += text));
  child.stderr!.setEncoding('utf8').on('data', (text) => (said.stderr += text));
  // `close`, not `exit`: everything it said has arrived by then.
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }));

  const ready = new Promise<string>((resolve, reject) => {
    child.stdout!.on('data', () => {
      const url = /(?:^|ready at )(https?:\S+)/.exec(said.stdout)?.[1];
      if (!url) return;
      readyAt ||= performance.now();
      resolve(url);
    });
    void exited.then(({ code, signal }) => reject(new Error(`it ended with ${code ?? signal} before it was ready: ${said.stderr}`)));
  });
  ready.catch(() => {}); // those who expect a refusal look at `exited` instead

  const killed = async () => {
    if (isRunning(child)) child.kill('SIGKILL');
    await exited;
  };
  const server: ServerProcess = {
    pid: child.pid!,
    ready,
    readyMs: () => readyAt - began,
    exited,
    stdout: () => said.stdout,
    stderr: () => said.stderr,
    signal: (name) => void child.kill(name),
    killed,
    stopped: async () => {
      child.kill('SIGTERM');
      return (await exited).code;
    },
    owner: async () => {
      const url = await ready;
      const key = (await readFile(join(dataDir, 'owner.token'), 'utf8')).trim();
      return { key, ...caller(url, key) };
    },
  };
  const end = async () => {
    await killed();
    if (env.QUARTERDECK_CLUSTER_BINARIES) await endPrograms(dataDir);
  };
  return { server, end };
}

/** What a server said, without that it was held up: on a busy machine starting may take long enough to be told. */
export const withoutSlowness = (log: string) => log.replace(/^.*held up everything else.*\n/gm, '');

const isRunning = (child: ChildProcess) => child.exitCode === null && child.signalCode === null;

/** Our environment without what steers Quarterdeck or the test runner. */
const ordinary = () =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(QUARTERDECK_|NODE_TEST|NODE_OPTIONS|PG)/.test(name)));

/**
 * Asks again until it holds: soon at first, then after a tenth of what it has waited, since every question is work for what is waited for.
 * A test that would wait for ever fails by its own time limit, with what it last saw.
 */
export async function eventually<T>(
  ask: () => Promise<T | undefined | false>,
  { withinMs = 60_000, everyMs }: { withinMs?: number; everyMs?: number } = {},
): Promise<T> {
  const began = performance.now();
  for (;;) {
    const isLate = () => performance.now() - began > withinMs;
    const found = await ask().catch((error) => (isLate() ? Promise.reject(error) : undefined));
    if (found !== undefined && found !== false) return found;
    if (isLate()) throw new Error(`did not happen within ${withinMs} ms`);
    await sleep(everyMs ?? Math.min(Math.max(10, (performance.now() - began) / 10), 200));
  }
}
