import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import pg from 'pg';
import Type from 'typebox';
import { freshDatabase, stopOwnServer } from '../../../test/harness/postgres.ts';
import { compileCache, quickFlags } from '../../../test/harness/quick-start.ts';
import { type AnyArea, type Area, defineArea } from '../../areas/area.ts';
import { areas } from '../../areas/index.ts';
import type { Database } from '../../boot/database.ts';
import { type Connection, type Db, openDb, rows, types } from '../../kernel/db/index.ts';
import { exitCodes } from '../../kernel/errors.ts';
import { registerAdmin } from '../index.ts';

after(stopOwnServer);

const main = fileURLToPath(new URL('../../main.ts', import.meta.url));

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** The real command line in a process of its own. Name servers are on loopback, whatever the machine has. */
export const quarterdeckCli = (args: string[], env: Record<string, string>): Promise<Ended> => spawned(args, env).ended;

/** The same, with Ctrl-C once the command has come so far. */
export async function interrupted(args: string[], env: Record<string, string>, isSoFar: () => Promise<unknown>): Promise<Ended> {
  const { child, ended } = spawned(args, env);
  await Promise.race([isSoFar(), ended]);
  child.kill('SIGINT');
  return ended;
}

function spawned(args: string[], env: Record<string, string>) {
  const { PATH = '', TMPDIR = tmpdir() } = process.env;
  const child = spawn(process.execPath, [...quickFlags, main, ...args], {
    cwd: tmpdir(),
    env: { PATH, TMPDIR, ...compileCache, QUARTERDECK_DNS_SERVERS: '127.0.0.1:1', QUARTERDECK_LISTEN: '127.0.0.1:0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: Ended = { code: null, out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text) => (said.out += text));
  child.stderr.setEncoding('utf8').on('data', (text) => (said.err += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...said, code }));
  });
  return { child, ended };
}

/** The same command in this process: a second of loading less. What main.ts makes of errors is the same here. */
export async function adminHere(args: string[], env: Record<string, string>): Promise<Ended> {
  const ended: Ended = { code: 0, out: '', err: '' };
  const write = (stream: 'out' | 'err') => (text: string) => {
    ended[stream] += text;
  };
  const { log, error } = console;
  const before = { ...process.env };
  Object.assign(process.env, { QUARTERDECK_DNS_SERVERS: '127.0.0.1:1', QUARTERDECK_LISTEN: '127.0.0.1:0' }, env);
  console.log = (text) => write('out')(`${text}\n`);
  console.error = (text) => write('err')(`${text}\n`);
  // Progress lines would be printed among the dots of the run. Commands write everything else with console.
  Object.assign(process.stderr, { write: () => true });
  try {
    const program = new Command('quarterdeck').exitOverride().configureOutput({ writeOut: write('out'), writeErr: write('err') });
    registerAdmin(program);
    await program.parseAsync(['admin', ...args], { from: 'user' });
    ended.code = Number(process.exitCode ?? 0);
  } catch (thrown) {
    const { code, exitCode, message } = thrown as { code?: string; exitCode?: number; message: string };
    if (exitCode === undefined) throw thrown;
    ended.code = !code?.startsWith('commander.') ? exitCode : exitCode === 0 ? 0 : exitCodes.usage;
    if (!code?.startsWith('commander.')) ended.err += `quarterdeck: ${message}\n`;
  } finally {
    Object.assign(console, { log, error });
    Reflect.deleteProperty(process.stderr, 'write');
    process.exitCode = undefined;
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
  }
  return ended;
}

export async function scratch(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'qda-'));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

const ObjectRow = Type.Object({ object: Type.String() });

/** Not served by anybody; its tables are made where a test asks for them. */
const depot = (): Area =>
  defineArea({
    name: 'depot',
    operations: [],
    migrations: { schema: 'depot', folder: new URL('./depot/', import.meta.url) },
    async *stored(tx) {
      for (const { object } of await rows(tx, ObjectRow)`select object from depot.box where object <> '' order by object`) yield object;
    },
    sealed: [{ table: 'depot.box', column: 'secret', id: 'id' }],
  });

export const withDepot = (): AnyArea[] => [...areas, depot()];
/** Without the product's own areas: the kernel, identity and every shape of table. */
export const depotAlone = (): AnyArea[] => [depot()];

export async function sqlOn<R extends pg.QueryResultRow>(connection: Connection, text: string, values: unknown[] = []): Promise<R[]> {
  const client = new pg.Client({ ...connection, types });
  await client.connect();
  return (await client.query<R>(text, values).finally(() => client.end())).rows;
}

export function dbOn(t: TestContext, connection: Connection): Db {
  const db = openDb({ connection, max: 4, checkRows: true });
  t.after(() => db.end());
  return db;
}

/** An external database without anything in it, as `restore` meets one. */
export async function emptyDatabase(t: TestContext): Promise<Database> {
  const { connection, drop } = await freshDatabase({ empty: true });
  t.after(drop);
  return { connection, direct: connection, embedded: false, stop: async () => {} };
}
