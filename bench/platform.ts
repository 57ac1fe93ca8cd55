/**
 * What the platform promises, measured on the real program: an authenticated list against a bare node:http server that returns
 * the same bytes, writes, statements for a request, start-up times and memory. `npm run bench -- platform`, or some parts of it:
 * `npm run bench -- platform starts requests writes statements`. With QUARTERDECK_BENCH_BEFORE, an installed checkout of another version, its writes are
 * measured in turns with ours.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { areas } from '../src/areas/index.ts';
import { readConfig } from '../src/kernel/config.ts';
import { makeLog } from '../src/kernel/log.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';
import { serve } from '../src/serve.ts';
import { postgresOf, type ServerProcess, startServer } from '../test/harness/process.ts';
import { memoryFlags as nodeFlags } from '../test/harness/quick-start.ts';
import { caller } from '../test/harness/request.ts';
import { loadGenerator, type Result } from './http/load.ts';

const rounds = 5;
const connections = 32;
const seconds = 2;
const env = { QUARTERDECK_RATE_LIMIT: '1000000' }; // counted and told in headers as ever, only never reached

const before = process.env['QUARTERDECK_BENCH_BEFORE'];
const wanted = process.argv.slice(3);
const parts = { starts: startsAndMemory, requests, writes, statements };

async function measure() {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  console.log(`${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`);
  try {
    for (const [name, part] of Object.entries(parts)) if (wanted.length === 0 || wanted.includes(name)) await part(dir);
  } finally {
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function startsAndMemory(dir: string) {
  const starts: number[] = [];
  for (let n = 0; n < 4; n++) {
    const { server, end } = startServer({ dir, nodeFlags });
    try {
      await server.ready;
      if (n === 0)
        figure('first start: database made, migrated, owner and token', server.readyMs(), 'ms', '< 60000', server.readyMs() < 60_000);
      else starts.push(server.readyMs());
      if (n === 0 || n === 3) await memory(server, join(dir, 'data'), n ? 'idle' : 'idle after the first start');
      await server.stopped();
    } finally {
      await end();
    }
  }
  figure('next start, median of 3', median(starts), 'ms', '< 3000', median(starts) < 3_000);

  const { server, end } = startServer({ dir, nodeFlags });
  await server.ready;
  await end(); // kill -9: the database is left, and adopted
  const again = startServer({ dir, nodeFlags });
  try {
    await again.server.ready;
    figure('start after kill -9', again.server.readyMs(), 'ms', '< 3000', again.server.readyMs() < 3_000);
    await again.server.stopped();
  } finally {
    await again.end();
  }
}

/** Node’s resident set whole (alone on a machine it shares with nobody) and PostgreSQL’s processes by what each adds (PSS). */
async function memory(server: ServerProcess, dataDir: string, when: string, target?: number) {
  await sleep(3_000);
  const node = kib(server.pid, 'Rss') / 1024;
  const postgres = family((await postgresOf(dataDir))!).reduce((sum, pid) => sum + kib(pid, 'Pss'), 0) / 1024;
  figure(`memory, ${when}: node`, node, 'MiB', '');
  figure(`memory, ${when}: postgres`, postgres, 'MiB', '');
  const most = target ?? 200;
  figure(`memory, ${when}: both`, node + postgres, 'MiB', `< ${most}`, node + postgres < most);
}

const kib = (pid: number, field: string) =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]);
const family = (pid: number): number[] => [
  pid,
  ...readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
];
/** User and system time of a process so far, in microseconds. */
const cpu = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
};

async function requests(dir: string) {
  const { server, end } = startServer({ dir, env, nodeFlags });
  const bare = fork(fileURLToPath(new URL('./http/bare-server.ts', import.meta.url)));
  const load = loadGenerator();
  try {
    const owner = await server.owner();
    for (let n = 0; n < 4; n++) await owner.post('/tokens', { name: `token ${n}`, scope: [{ role: 'uptime.viewer' }] });
    const headers = { authorization: `Bearer ${owner.key}` };
    const answer = await fetch(`${await server.ready}/api/v1/tokens`, { headers });
    const body = await answer.text();
    const same = Object.fromEntries([...answer.headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)));
    bare.send({ headers: same, body });
    const [barePort] = (await once(bare, 'message')) as [number];

    const sides = {
      ours: { port: Number(new URL(await server.ready).port), pid: server.pid, results: [] as Result[], cpu: [] as number[] },
      bare: { port: barePort, pid: bare.pid!, results: [] as Result[], cpu: [] as number[] },
    };
    // Warm: the optimizing compiler needs a few seconds of traffic before a figure repeats itself.
    for (const { port } of Object.values(sides)) await load.play({ port, path: '/api/v1/tokens', headers, connections, seconds: 5 });
    for (let n = 0; n < rounds; n++) {
      for (const side of n % 2 ? [sides.bare, sides.ours] : [sides.ours, sides.bare]) {
        const before = cpu(side.pid);
        const result = await load.play({ port: side.port, path: '/api/v1/tokens', headers, connections, seconds });
        side.results.push(result);
        side.cpu.push((cpu(side.pid) - before) / (result.perSecond * seconds));
      }
    }
    const of = (side: typeof sides.ours, pick: (r: Result) => number) => median(side.results.map(pick));
    const [ours, raw] = [of(sides.ours, (r) => r.perSecond), of(sides.bare, (r) => r.perSecond)];
    const ratio = median(sides.ours.results.map((r, n) => r.perSecond / sides.bare.results[n]!.perSecond));
    figure(`GET /tokens (${body.length} bytes), ${connections} connections`, ours, '/s', '');
    figure(
      '  p50',
      of(sides.ours, (r) => r.p50),
      'ms',
      '',
    );
    figure(
      '  p99',
      of(sides.ours, (r) => r.p99),
      'ms',
      '',
    );
    figure('bare node:http with the same bytes', raw, '/s', '');
    figure(`ratio, median of ${rounds} interleaved`, ratio, '', '≥ 0.5', ratio >= 0.5);
    figure('CPU a request: ours', median(sides.ours.cpu), 'µs', '');
    figure('CPU a request: bare', median(sides.bare.cpu), 'µs', '');
    await memory(server, join(dir, 'data'), 'after the load', 250);
    await server.stopped();
  } finally {
    load.stop();
    bare.disconnect();
    await end();
  }
}

/** A token is renamed by each connection: the rights again under their locks, a row, its line in the audit, and a commit that fsyncs. */
async function writes(dir: string) {
  const ends: (() => unknown)[] = [];
  const load = loadGenerator();
  ends.push(() => load.stop());
  const start = async (name: string, checkout?: string) => {
    const started = startServer({ dir, dataDir: join(dir, name), env, nodeFlags, ...(checkout && { checkout }) });
    ends.unshift(() => started.server.stopped());
    const owner = await started.server.owner();
    const ids: string[] = [];
    for (let n = 0; n < connections; n++)
      ids.push((await owner.post('/tokens', { name: `token ${n}`, scope: [{ role: 'uptime.viewer' }] })).body.id);
    const headers = { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' };
    const request = { method: 'PATCH', path: ids.map((id) => `/api/v1/tokens/${id}`), body: '{"name":"another name"}', headers };
    const port = Number(new URL(await started.server.ready).port);
    const play = (forSeconds: number) => load.play({ port, ...request, connections, seconds: forSeconds });
    await play(5);
    const postgres = (await postgresOf(join(dir, name)))!;
    const spent = () => ({ node: cpu(started.server.pid), postgres: family(postgres).reduce((sum, pid) => sum + cpu(pid), 0) });
    return { play, spent, began: spent(), results: [] as Result[] };
  };
  try {
    const sides = [await start('writes')];
    if (before) sides.push(await start('writes-before', before));
    const turns = before ? 3 * rounds : rounds;
    for (let n = 0; n < turns; n++) for (const side of n % 2 ? sides.toReversed() : sides) side.results.push(await side.play(seconds));
    const [ours, theirs] = sides;
    const tellCpu = (whose: string, { spent, began, results }: typeof ours & {}) => {
      const [after, count] = [spent(), results.reduce((sum, r) => sum + r.perSecond * seconds, 0)];
      for (const part of ['node', 'postgres'] as const)
        figure(`  CPU a write${whose}: ${part}`, (after[part] - began[part]) / count, 'µs', '');
    };
    figure(`PATCH /tokens/{id}, ${connections} connections`, median(ours!.results.map((r) => r.perSecond)), '/s', '');
    figure('  p50', median(ours!.results.map((r) => r.p50)), 'ms', '');
    figure('  p99', median(ours!.results.map((r) => r.p99)), 'ms', '');
    tellCpu('', ours!);
    if (!theirs) return;
    tellCpu(', the version before', theirs);
    const ratios = ours!.results.map((r, n) => r.perSecond / theirs.results[n]!.perSecond);
    figure('  the version before', median(theirs.results.map((r) => r.perSecond)), '/s', '');
    figure(`  ratio, median of ${turns} interleaved`, median(ratios), '', '≥ 0.95', median(ratios) >= 0.95);
    console.log(`  ratios ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`);
  } finally {
    for (const end of ends) await end();
  }
}

/** In this process, where the pool can be listened to; without a worker, which asks for work once a second. */
async function statements(dir: string) {
  const dataDir = join(dir, 'data');
  const postgres = await keepPostgres({ dataDir });
  const { config } = readConfig({ QUARTERDECK_DATA: dataDir, QUARTERDECK_LISTEN: '127.0.0.1:0', QUARTERDECK_ROLES: 'api', ...env }, dir);
  const database = { connection: postgres.connection, direct: postgres.connection, embedded: true, stop: () => postgres.stop() };
  const running = await serve({ config, log: makeLog('silent'), areas, database });
  try {
    let asked = 0;
    const heard = new WeakSet<object>();
    running.app.db.pool.on('acquire', (client) => {
      if (heard.has(client)) return;
      heard.add(client);
      const query = client.query.bind(client) as (...given: unknown[]) => unknown;
      client.query = ((...given: unknown[]) => {
        asked++;
        return query(...given);
      }) as never;
    });
    const count = async (act: () => Promise<unknown>) => {
      const before = asked;
      await act();
      return asked - before;
    };

    const owner = caller(running.url, readFileSync(join(dataDir, 'owner.token'), 'utf8').trim());
    const hot: number[] = [];
    const cold: number[] = [];
    for (let n = 0; n < rounds; n++) {
      const { key } = (await owner.post('/tokens', { name: 'cold' })).body;
      cold.push(await count(() => caller(running.url, key).get('/iam/permissions'))); // no statement of its own: what is left is authentication
      await owner.get('/tokens');
      hot.push(
        (await count(async () => {
          for (let m = 0; m < 200; m++) await owner.get('/tokens');
        })) / 200,
      );
    }
    figure('statements a request, hot', median(hot), '', '0', median(hot) === 0);
    figure('statements to authenticate, cold', median(cold), '', '1', median(cold) === 1);
  } finally {
    await running.stop();
  }
}

const median = (list: number[]) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]!;

function figure(what: string, value: number, unit: string, target: string, met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(58)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(4)} ${target.padEnd(8)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

await measure();
