/**
 * What signing in promises, measured: a session's request against a token's, in turns, with the statements that it costs; the API's p99
 * while strangers send passwords without pause; and the first start and idle memory against those of a version without sign-in, in turns.
 * That version is an installed checkout, which QUARTERDECK_BENCH_BEFORE names; without one the last part tells numbers and no verdict.
 * `npm run bench -- sign-in`, or some parts of it: `npm run bench -- sign-in sessions flood starts`.
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeLink } from '../src/areas/account/index.ts';
import { areas } from '../src/areas/index.ts';
import { readConfig } from '../src/kernel/config.ts';
import { makeLog } from '../src/kernel/log.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';
import { serve } from '../src/serve.ts';
import { startServer } from '../test/harness/process.ts';
import { memoryFlags } from '../test/harness/quick-start.ts';
import { caller } from '../test/harness/request.ts';
import { startFlood } from './http/flood.ts';
import { loadGenerator } from './http/load.ts';

const rounds = 7;
const seconds = { rate: 2, times: 4 };
const startRounds = 3;
/** Enough to keep the server busy, for the rate. For times, a program that works along: one that asks without pause gives way to others. */
const connections = { rate: 16, times: 4 };
const pauseMs = 20;
const floodPerSecond = 200;

const before = process.env['QUARTERDECK_BENCH_BEFORE'];

const wanted = process.argv.slice(3);
/** It is answered from memory: what is left is authentication. */
const path = '/api/v1/tokens';
const own = { 'sec-fetch-site': 'same-origin' };

/** In this process, where the pool can be listened to; without a worker, which asks for work once a second. */
async function measure() {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  const postgres = await keepPostgres({ dataDir });
  const env = { QUARTERDECK_RATE_LIMIT: '1000000', QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1', QUARTERDECK_ROLES: 'api' };
  const { config } = readConfig({ QUARTERDECK_DATA: dataDir, QUARTERDECK_LISTEN: '127.0.0.1:0', ...env }, dir);
  const database = { connection: postgres.connection, direct: postgres.connection, embedded: true, stop: () => postgres.stop() };
  const running = await serve({ config, log: makeLog('silent'), areas, database });
  const load = loadGenerator();
  try {
    const key = readFileSync(join(dataDir, 'owner.token'), 'utf8').trim();
    const { id } = (await caller(running.url, key).get('/me')).body;
    const { secret } = await running.app.db.write((tx) => makeLink(tx, id, 'operator'));
    const answer = await fetch(`${running.url}/sign-in/link/${secret}`, { method: 'POST', headers: own, redirect: 'manual' });
    const cookie = answer.headers.getSetCookie()[0]!.split(';')[0]!;
    const headers = { token: { authorization: `Bearer ${key}` }, session: { cookie, ...own } };
    const port = Number(new URL(running.url).port);
    const play = (whose: keyof typeof headers, open: number, forSeconds = open === connections.times ? seconds.times : seconds.rate) =>
      load.play({
        port,
        path,
        headers: headers[whose],
        connections: open,
        seconds: forSeconds,
        ...(open === connections.times && { pauseMs }),
      });

    await play('token', connections.rate, 4); // the optimizing compiler needs a few seconds
    await play('session', connections.rate, 4);
    if (isWanted('sessions')) {
      await rates(play);
      await statements(running, headers.session);
    }
    if (isWanted('flood')) await flooded(play, port);
  } finally {
    load.stop();
    await running.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

const isWanted = (part: string) => wanted.length === 0 || wanted.includes(part);

type Play = (whose: 'token' | 'session', open: number) => Promise<{ perSecond: number; p99: number }>;

async function rates(play: Play) {
  const rate = { token: [] as number[], session: [] as number[] };
  const cpu = { token: [] as number[], session: [] as number[] };
  for (let n = 0; n < rounds; n++)
    for (const whose of n % 2 ? (['session', 'token'] as const) : (['token', 'session'] as const)) {
      const before = process.cpuUsage();
      const { perSecond } = await play(whose, connections.rate);
      const { user, system } = process.cpuUsage(before);
      rate[whose].push(perSecond);
      cpu[whose].push((user + system) / (perSecond * seconds.rate));
    }
  const ratios = rate.session.map((r, n) => r / rate.token[n]!);
  figure(`GET /tokens by token, ${connections.rate} connections`, median(rate.token), '/s', '');
  figure('GET /tokens by session', median(rate.session), '/s', '');
  figure(`  ratio, median of ${rounds} in turns`, median(ratios), '', '≥ 0.9', median(ratios) >= 0.9);
  console.log(`  ratios ${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`);
  // Processor time is the same on a machine that others use as well.
  figure('CPU a request: token', median(cpu.token), 'µs', '');
  figure('CPU a request: session', median(cpu.session), 'µs', '');
  figure('  ratio', median(cpu.token) / median(cpu.session), '', '');
}

async function statements({ app, url }: Awaited<ReturnType<typeof serve>>, headers: Record<string, string>) {
  let asked = 0;
  const heard = new WeakSet<object>();
  app.db.pool.on('acquire', (client) => {
    if (heard.has(client)) return;
    heard.add(client);
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    client.query = ((...given: unknown[]) => {
      asked++;
      return query(...given);
    }) as never;
  });
  const hot: number[] = [];
  for (let n = 0; n < rounds; n++) {
    const before = asked;
    for (let m = 0; m < 200; m++) await (await fetch(`${url}${path}`, { headers })).arrayBuffer();
    hot.push((asked - before) / 200);
  }
  figure('statements a session’s request, hot', median(hot), '', '0', median(hot) === 0);
}

async function flooded(play: Play, port: number) {
  const p99 = { calm: [] as number[], flooded: [] as number[] };
  const answers: Record<string, number> = {};
  for (let n = 0; n < rounds; n++)
    for (const state of n % 2 ? (['flooded', 'calm'] as const) : (['calm', 'flooded'] as const)) {
      const flood = state === 'flooded' ? startFlood(port, floodPerSecond) : undefined;
      await sleep(1_000); // the flood has filled its queue, or the one before has drained
      p99[state].push((await play('token', connections.times)).p99);
      for (const [status, count] of Object.entries((await flood?.stop()) ?? {})) answers[status] = (answers[status] ?? 0) + count;
      if (flood) await sleep(2_000);
    }
  const ratio = median(p99.flooded) / median(p99.calm);
  figure(`GET /tokens, ${connections.times} connections: p99`, median(p99.calm), 'ms', '');
  figure(`  while ${floodPerSecond} passwords a second arrive`, median(p99.flooded), 'ms', '');
  figure('  ratio', ratio, '', '≤ 2', ratio <= 2);
  console.log(
    `  sign-ins answered: ${Object.entries(answers)
      .map(([status, count]) => `${count} × ${status}`)
      .join(', ')}`,
  );
  // A flood that reaches no hash, or that fits into the queue, measures nothing.
  const isFlood = (answers['401'] ?? 0) > 0 && (answers['503'] ?? 0) > (answers['401'] ?? 0);
  figure('  passwords compared a second', (answers['401'] ?? 0) / (rounds * (1 + seconds.times)), '/s', 'a flood', isFlood);
}

interface Start {
  readyMs: number;
  nodeMiB: number;
}

/** Each in an empty directory: database made, migrated, owner and token. Node's resident set three seconds later. */
async function measureStart(checkout: string | undefined): Promise<Start> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-bench-')));
  await chmod(dir, 0o755);
  const { server, end } = startServer({ dir, nodeFlags: memoryFlags, ...(checkout ? { checkout } : {}) });
  try {
    await server.ready;
    await sleep(3_000);
    const nodeMiB = Number(/^Rss:\s+(\d+)/m.exec(readFileSync(`/proc/${server.pid}/smaps_rollup`, 'utf8'))?.[1]) / 1024;
    await server.stopped();
    return { readyMs: server.readyMs(), nodeMiB };
  } finally {
    await end();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function starts() {
  const measured = { before: [] as Start[], now: [] as Start[] };
  for (let n = 0; n < startRounds; n++)
    for (const which of n % 2 ? (['now', 'before'] as const) : (['before', 'now'] as const))
      if (which === 'now' || before) measured[which].push(await measureStart(which === 'now' ? undefined : before));
  const medianOf = (which: keyof typeof measured, field: keyof Start) => median(measured[which].map((start) => start[field]));
  figure(`first start, median of ${startRounds}`, medianOf('now', 'readyMs'), 'ms', '');
  figure('memory after it, idle: node', medianOf('now', 'nodeMiB'), 'MiB', '');
  if (!before) return console.log('  not compared: QUARTERDECK_BENCH_BEFORE names no version without sign-in');
  const slower = medianOf('now', 'readyMs') - medianOf('before', 'readyMs');
  figure(`  longer than ${before}`, slower, 'ms', '≤ 3000', slower <= 3_000);
  const larger = medianOf('now', 'nodeMiB') - medianOf('before', 'nodeMiB');
  figure('  larger', larger, 'MiB', '≤ 5', larger <= 5);
}

const median = (list: number[]) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)]!;

function figure(what: string, value: number, unit: string, target: string, met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(58)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(4)} ${target.padEnd(8)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

console.log(`${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`);
if (isWanted('starts')) await starts();
if (isWanted('sessions') || isWanted('flood')) await measure();
