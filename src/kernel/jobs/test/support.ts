import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import type { App } from '../../app.ts';
import { type Connection, openDb, run } from '../../db.ts';
import { listen } from '../../listen.ts';
import { migrate, readMigrations } from '../../migrate.ts';
import { keepPostgres } from '../../postgres/index.ts';
import { moveClock } from '../../time.ts';
import { type Job, makeWaker, startWorker, type Task, type Worker, type WorkerOptions } from '../index.ts';

export interface Database {
  dataDir: string;
  connection: Connection;
  pid: number;
}

/** A real server with the kernel's tables and one more, where handlers write down what they did. */
export async function database(t: TestContext): Promise<Database> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-jobs-')));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  const kept = await keepPostgres({ dataDir, settings: { fsync: 'off' } });
  t.after(async () => {
    await kept.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  });
  await prepare(kept.connection);
  return { dataDir, connection: kept.connection, pid: kept.pid };
}

export async function prepare(connection: Connection): Promise<void> {
  await migrate(connection, await readMigrations([{ schema: 'kernel', folder: new URL('../../migrations/', import.meta.url) }]));
  const db = openDb({ connection, max: 1 });
  await db.read(
    (tx) => run(tx)`create table public.deed (n bigint generated always as identity, who text, what text, key text, attempt int)`,
  );
  await db.end();
}

/** What a process of the product has, as far as background work needs it. */
export async function makeApp(connection: Connection, options: { silent?: boolean } = {}): Promise<{ app: App; close(): Promise<void> }> {
  const db = openDb({ connection, checkRows: true });
  const listener = await listen({ connection });
  const waker = makeWaker({ db, connection, listener });
  const log = pino({ level: options.silent === false ? 'info' : 'silent' });
  const app = { db, connection, listener, waker, log, strict: true } as unknown as App;
  const close = async () => {
    await waker.close();
    await listener.close();
    await db.end();
  };
  return { app, close };
}

export interface Bench {
  database: Database;
  app: App;
  worker(jobs: readonly Job[], options?: Partial<WorkerOptions> & { tasks?: readonly Task[] }): Worker;
  /** Moves the product's clock and tells every worker. */
  advance(seconds: number): Promise<void>;
  count(what?: string): Promise<number>;
  deeds(): Promise<{ who: string; what: string; key: string; attempt: number }[]>;
  sql(text: string): Promise<Record<string, unknown>[]>;
}

export async function workbench(t: TestContext): Promise<Bench> {
  const at = await database(t);
  const { app, close } = await makeApp(at.connection);
  const workers: Worker[] = [];
  t.after(async () => {
    await Promise.all(workers.map((w) => w.stop({ graceMs: 0 })));
    await close();
  });
  const sql: Bench['sql'] = async (text) => (await app.db.pool.query(text)).rows;
  return {
    database: at,
    app,
    worker: (jobs, options = {}) => {
      const worker = startWorker({ app, jobs, ...options });
      workers.push(worker);
      return worker;
    },
    advance: async (seconds) => {
      await app.db.write((tx) => moveClock(tx, seconds));
      for (const lane of ['page', 'mail', 'webhook', 'default']) app.waker.wake(`lane:${lane}`);
    },
    count: async (where = 'true') => Number((await sql(`select count(*) as n from kernel.job where ${where}`))[0]!['n']),
    deeds: async () => (await sql('select who, what, key, attempt from public.deed order by n')) as never,
    sql,
  };
}

/** Asks until it is so; what never becomes so fails the test with the reason. */
export async function eventually(what: string, is: () => Promise<boolean> | boolean, ms = 10_000): Promise<void> {
  const until = performance.now() + ms;
  while (!(await is())) {
    if (performance.now() > until) throw new Error(`this did not happen within ${ms} ms: ${what}`);
    await sleep(10);
  }
}

export interface WorkerProcess {
  process: ChildProcess;
  /** Settles with the next line that begins so. */
  said(beginning: string): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  gone: Promise<unknown>;
}

/** A worker in a process of its own, for tests that stop or kill it. See worker-process.ts for what its jobs do. */
export function workerProcess(t: TestContext, connection: Connection, name: string, kinds = 'write,wait'): WorkerProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'worker-process.ts'), name, kinds, JSON.stringify(connection)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = once(child, 'exit');
  const lines: string[] = [];
  const waiting: { beginning: string; resolve: (line: string) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const i = waiting.findIndex((w) => line.startsWith(w.beginning));
    if (i >= 0) waiting.splice(i, 1)[0]!.resolve(line);
    else lines.push(line);
  });
  t.after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    }
    await gone;
  });
  return {
    process: child,
    said: (beginning) => {
      const i = lines.findIndex((line) => line.startsWith(beginning));
      if (i >= 0) return Promise.resolve(lines.splice(i, 1)[0]!);
      return new Promise((resolve) => waiting.push({ beginning, resolve }));
    },
    kill: (signal) => child.kill(signal),
    gone,
  };
}
