import { chmod, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Type from 'typebox';
import { installFakes } from '../../../../../test/fakes/kubernetes/index.ts';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { type Options, type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually, processesBelow } from '../../../../../test/harness/process.ts';
import type { App } from '../../../../kernel/app.ts';
import { rows } from '../../../../kernel/db/index.ts';
import { keepPostgres } from '../../../../kernel/postgres/index.ts';
import type { Way } from '../support.ts';

export const versions = ['v1.36.4', 'v1.35.8'];

/** A folder with stand-ins of Kubernetes' programs, which goes with the test. */
export async function fakeBinaries(
  t: TestContext,
  which: readonly string[] = versions,
  options: { withEtcd?: boolean } = {},
): Promise<string> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qdb-')));
  await chmod(dir, 0o755);
  await installFakes(dir, which, options);
  t.after(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

export interface WithPrograms extends Quarterdeck {
  binaries: string;
}

/** A server that has stand-ins of Kubernetes' programs. */
export async function withPrograms(
  t: TestContext,
  { withEtcd = false, ...options }: Options & { withEtcd?: boolean } = {},
): Promise<WithPrograms> {
  const binaries = await fakeBinaries(t, versions, { withEtcd });
  const qd = await quarterdeck(t, { ...options, env: { QUARTERDECK_CLUSTER_BINARIES: binaries, ...options.env } });
  return { ...qd, binaries };
}

/** For a server that has clusters of these programs and nothing else to do, at an address where the next one can be too. */
export const clustersAlone = async (binaries: string) => ({
  QUARTERDECK_ROLES: 'api,shard',
  QUARTERDECK_CLUSTER_BINARIES: binaries,
  QUARTERDECK_CLUSTER_LISTEN: `127.0.0.1:${await freePort()}`,
});

/** A server in this process on a PostgreSQL of its own in `dataDir`, as one has it that is started there by itself. */
export async function withOwnPostgres(t: TestContext, dataDir: string, env: Record<string, string>): Promise<Quarterdeck> {
  const { connection, stop: stopPostgres } = await keepPostgres({ dataDir });
  const qd = await quarterdeck(t, { connection, dataDir, env }).catch(async (error) => {
    await stopPostgres();
    throw error;
  });
  t.after(stopPostgres); // what ends with a test ends in this order: the server, then its database
  const stop = async () => {
    await qd.stop();
    await stopPostgres();
  };
  return { ...qd, stop };
}

export const runOf = async (dataDir: string): Promise<string> => join(await realpath(dataDir), 'clusters', 'run');

/** Programs at work below a data directory, by number. */
export const programsIn = async (dataDir: string): Promise<number[]> => processesBelow(await runOf(dataDir));

export interface Recorded {
  kind: string;
  pid: number;
  port: number;
  hash: string;
}

export const recordsIn = async (dataDir: string): Promise<Recorded[]> => recordsBelow(await runOf(dataDir));

/** The same of one cluster's directory. */
export async function recordsBelow(dir: string): Promise<Recorded[]> {
  const names = (await readdir(dir, { recursive: true }).catch(() => [])).filter((name) => name.endsWith('.record.json'));
  const texts = await Promise.all(names.map((name) => readFile(join(dir, name), 'utf8').catch(() => 'null')));
  return texts.map((text) => JSON.parse(text)).filter(Boolean);
}

export const pidsOf = async (dataDir: string, kind: string): Promise<number[]> =>
  (await recordsIn(dataDir)).filter((record) => record.kind === kind).map(({ pid }) => pid);

const NameRow = Type.Object({ name: Type.String() });
export const schemasOf = async (app: App): Promise<string[]> =>
  (await app.db.read((tx) => rows(tx, NameRow)`select nspname::text as name from pg_namespace where nspname like 'cluster\\_%'`)).map(
    ({ name }) => name,
  );

/** Watches from the beginning, again whenever it ends; counts how it ended. */
export function watchFrom(way: Way, path: string) {
  const names = new Set<string>();
  const count = { ends: 0, cuts: 0 };
  let isOver = false;
  let current: { destroy(): void } | undefined;
  const begin = () => {
    if (isOver) return;
    const asked = httpsRequest(
      `${way.server}${path}?watch=1`,
      { ca: way.ca, agent: false, headers: { authorization: `Bearer ${way.token}` } },
      (answer) => {
        let rest = '';
        answer.setEncoding('utf8').on('data', (text: string) => {
          const lines = (rest + text).split('\n');
          rest = lines.pop()!;
          for (const line of lines) if (line) names.add(JSON.parse(line).object.metadata.name);
        });
        answer.on('error', () => {});
        answer.once('close', () => {
          if (isOver) return;
          if (answer.complete && rest === '') count.ends++;
          else count.cuts++;
          setTimeout(begin, 50);
        });
      },
    );
    asked.on('error', () => setTimeout(begin, 50));
    asked.end();
    current = asked;
  };
  begin();
  return {
    names: () => names,
    ends: () => count.ends,
    cuts: () => count.cuts,
    stop: () => {
      isOver = true;
      current?.destroy();
    },
  };
}

/** kill -9 of a program of the only cluster, once it is there; its number. */
export async function killProgram(dataDir: string, kind: string): Promise<number> {
  await eventually(async () => (await pidsOf(dataDir, kind)).length > 0);
  const [pid] = await pidsOf(dataDir, kind);
  process.kill(pid!, 'SIGKILL');
  return pid!;
}

/** What the server wrote of itself for the programs of its only cluster. */
export async function holderIn(dataDir: string) {
  const run = await runOf(dataDir);
  const [id] = await readdir(run);
  const path = join(run, id!, 'holder.json');
  const holder = JSON.parse(await readFile(path, 'utf8'));
  const change = (by: object) => writeFile(path, JSON.stringify({ ...holder, ...by }));
  return { run, id: id!, holder, change };
}
