import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { pino } from 'pino';
import { settleMigrated } from '../../../../test/harness/postgres.ts';
import { quickFlags } from '../../../../test/harness/quick-start.ts';
import type { App } from '../../app.ts';
import { type Connection, openDb, run } from '../../db/index.ts';
import { makeRefusals } from '../../fairness/index.ts';
import { listen } from '../../listen.ts';
import { migrate, readMigrations } from '../../migrate.ts';
import { keepPostgres } from '../../postgres/index.ts';
import { moveClock } from '../../time.ts';
import { clockMoved, type Job, makeWaker, startWorker, type Task, type Worker, type WorkerOptions, wake } from '../index.ts';

export interface Database {
  connection: Connection;
  stop(): Promise<void>;
}

/** A separate server, for tests that stop or kill it. */
export async function ownServer(): Promise<Database & { dataDir: string; pid: number }> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-jobs-')));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  await settleMigrated(dataDir); // to make one takes seconds
  const isMigrated = existsSync(dataDir);
  const kept = await keepPostgres({ dataDir, settings: { fsync: 'off' } });
  await prepare(kept.connection, { isMigrated });
  const stop = async () => {
    await kept.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  };
  return { connection: kept.connection, dataDir, pid: kept.pid, stop };
}

/** A separate database on the runner's server. */
async function sharedServer(server: Connection): Promise<Database> {
  const name = `jobs_${process.pid}`;
  const ask = async (text: string) => {
    const client = new pg.Client({ ...server, database: 'postgres' });
    await client.connect();
    await client.query(text).finally(() => client.end());
  };
  await ask(`create database ${name} template template0 strategy file_copy`);
  const connection = { ...server, database: name };
  await prepare(connection);
  return { connection, stop: () => ask(`drop database ${name} with (force)`) };
}

/** The kernel's tables and one more, where handlers record what they did. */
async function prepare(connection: Connection, { isMigrated = false } = {}): Promise<void> {
  if (!isMigrated) await migrate(connection, readMigrations([{ schema: 'kernel', folder: new URL('../../migrations/', import.meta.url) }]));
  const db = openDb({ connection, max: 1 });
  await db.read(
    (tx) => run(tx)`create table public.deed (n bigint generated always as identity, who text, what text, key text, attempt int)`,
  );
  await db.end();
}

/** The parts of an App that background work needs. */
export async function makeApp(connection: Connection, options: { silent?: boolean } = {}): Promise<{ app: App; close(): Promise<void> }> {
  const db = openDb({ connection, checkRows: true });
  const listener = await listen({ connection });
  const waker = makeWaker({ db, connection, listener });
  const log = pino({ level: options.silent === false ? 'info' : 'silent' });
  const app = {
    db,
    connection,
    listener,
    waker,
    log,
    refusals: makeRefusals(log),
    hold: { isHeld: false },
    strict: true,
  } as unknown as App;
  const close = async () => {
    await waker.close();
    await listener.close();
    await db.end();
  };
  return { app, close };
}

export interface Bench {
  connection: Connection;
  app: App;
  /** Cleaned up after the test, the last first. */
  defer(stop: () => Promise<unknown> | unknown): void;
  process(name: string, kinds?: string): WorkerProcess;
  worker(jobs: readonly Job[], options?: Partial<WorkerOptions> & { tasks?: readonly Task[] }): Worker;
  /** Moves the product's clock and notifies every worker. */
  advance(seconds: number): Promise<unknown>;
  count(what?: string): Promise<number>;
  deeds(): Promise<{ who: string; what: string; key: string; attempt: number }[]>;
  sql(text: string): Promise<Record<string, unknown>[]>;
}

export async function workbench(t: TestContext, server?: Database): Promise<Bench> {
  const stops: (() => Promise<unknown> | unknown)[] = [];
  t.after(async () => {
    for (const stop of stops.reverse()) await stop();
  });
  const given = process.env['QUARTERDECK_TEST_POSTGRES'];
  const database = server ?? (given ? await sharedServer(JSON.parse(given)) : await ownServer());
  stops.push(database.stop);
  const { app, close } = await makeApp(database.connection);
  stops.push(close);
  const sql: Bench['sql'] = async (text) => (await app.db.pool.query(text)).rows;
  return {
    connection: database.connection,
    app,
    defer: (stop) => stops.push(stop),
    worker: (jobs, options = {}) => {
      const worker = startWorker({ app, jobs, ...options });
      stops.push(() => worker.stop({ graceMs: 0 }));
      return worker;
    },
    process: (name, kinds) => {
      const started = workerProcess(database.connection, name, kinds);
      stops.push(started.end);
      return started;
    },
    advance: (seconds) =>
      app.db.write(async (tx) => {
        await moveClock(tx, seconds);
        wake(tx, clockMoved);
      }),
    count: async (where = 'true') => Number((await sql(`select count(*) as n from kernel.job where ${where}`))[0]!['n']),
    deeds: async () => (await sql('select who, what, key, attempt from public.deed order by n')) as never,
    sql,
  };
}

/** Polls until the condition holds; otherwise the test fails with the reason. */
export async function eventually(what: string, is: () => Promise<boolean> | boolean, ms = 10_000): Promise<void> {
  const until = performance.now() + ms;
  while (!(await is())) {
    if (performance.now() > until) throw new Error(`this did not happen within ${ms} ms: ${what}`);
    await sleep(10);
  }
}

export interface WorkerProcess {
  process: ChildProcess;
  /** Settles with the next line that has this prefix. */
  said(beginning: string): Promise<string>;
  kill(signal: NodeJS.Signals): void;
  gone: Promise<unknown>;
  end(): Promise<void>;
}

/** A worker in a process of its own, for tests that stop or kill it. See worker-process.ts for what its jobs do. */
export function workerProcess(connection: Connection, name: string, kinds = 'write,wait'): WorkerProcess {
  const child = spawn(
    process.execPath,
    [...quickFlags, join(import.meta.dirname, 'worker-process.ts'), name, kinds, JSON.stringify(connection)],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const gone = once(child, 'exit');
  const lines: string[] = [];
  const waiting: { beginning: string; resolve: (line: string) => void }[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const i = waiting.findIndex((w) => line.startsWith(w.beginning));
    if (i >= 0) waiting.splice(i, 1)[0]!.resolve(line);
    else lines.push(line);
  });
  return {
    end: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await gone;
    },
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
