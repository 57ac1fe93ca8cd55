/**
 * What status pages promise, measured on two processes of the real program over one PostgreSQL with fsync: a page against a bare
 * node:http server that sends the same bytes, and how soon what one process publishes is seen on the other while readers keep it busy.
 * `npm run bench -- status`
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { insertToken } from '../src/areas/tokens/store/tokens.ts';
import { mintKey } from '../src/identity/token-format.ts';
import { type Connection, openDb } from '../src/kernel/db/index.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';
import { sql } from '../src/kernel/sql.ts';
import { urlOf } from '../test/harness/postgres.ts';
import { startServer } from '../test/harness/process.ts';
import { type Caller, caller } from '../test/harness/request.ts';
import { loadGenerator, type Result } from './http/load.ts';
import { cpuOf } from './uptime/programs.ts';

const rounds = 5;
const connections = 32;
const seconds = 2;
const readersPerSecond = 1_000;
const publications = 100;
const path = '/status/acme';

function figure(what: string, value: number, unit: string, target: string, met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(62)} ${value.toFixed(value < 100 ? 2 : 0).padStart(9)} ${unit.padEnd(4)} ${target.padEnd(8)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}
const sorted = (list: number[]) => [...list].sort((a, b) => a - b);
const median = (list: number[]) => sorted(list)[Math.floor(list.length / 2)]!;
/** From the least to the most. */
const reach = (list: number[]) => [Math.min(...list), Math.max(...list)].map((v) => v.toFixed(v < 100 ? 2 : 0)).join('–');
const p99 = (list: number[]) => sorted(list)[Math.ceil(list.length * 0.99) - 1]!;

async function measure() {
  console.log(`${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`);
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const postgres = await keepPostgres({ dataDir: join(dir, 'database') });
  const env = { QUARTERDECK_DATABASE_URL: urlOf(postgres.connection), QUARTERDECK_RATE_LIMIT: '0' };
  const one = startServer({ dir, env });
  try {
    const first = await one.server.ready;
    const two = startServer({ dir, env });
    try {
      const second = await two.server.ready;
      const owner = caller(first, await ownerKey(postgres.connection));
      const incidents = await fill(owner);
      await throughput(first, one.server.pid);
      await visibility(owner, second, incidents);
      await two.server.stopped();
    } finally {
      await two.end();
    }
    await one.server.stopped();
  } finally {
    await one.end();
    await postgres.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

async function ownerKey(connection: Connection): Promise<string> {
  const db = openDb({ connection, max: 1 });
  const { key, start, hash } = mintKey('pat');
  await db.write(async (tx) => {
    const { rows } = await tx.query(sql`select org_id, user_id from identity.member where role = 'owner' limit 1`);
    const { org_id: org, user_id: user } = rows[0] as { org_id: string; user_id: string };
    await insertToken(tx, { org, user, name: 'bench', start, hash, scope: [], ceilings: [], expiresIn: 86_400 });
  });
  await db.end();
  return key;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
const good = async (answer: Promise<{ status: number; body: any }>): Promise<any> => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
};

/** A page with something to tell: twelve services, incidents with several updates each. */
async function fill(owner: Caller): Promise<string[]> {
  const serviceIds: string[] = [];
  for (let n = 0; n < 12; n++) serviceIds.push((await good(owner.post('/oncall/services', { name: `Service number ${n}` }))).id);
  await good(
    owner.post('/status-pages', { slug: 'acme', title: 'Acme Cloud', description: 'How we do', serviceIds, timezone: 'Europe/Paris' }),
  );
  const incidents: string[] = [];
  for (let n = 0; n < 6; n++) {
    const { id } = await good(owner.post('/oncall/incidents', { serviceId: serviceIds[n], title: `Requests to service ${n} take long` }));
    for (let u = 0; u < 3; u++)
      await good(
        owner.post(`/oncall/incidents/${id}/updates`, { body: `We know more by now, part ${u}. ${'It is being worked on. '.repeat(12)}` }),
      );
    if (n > 1) await good(owner.post(`/oncall/incidents/${id}/resolve`));
    incidents.push(id);
  }
  return incidents;
}

/**
 * Pages a second depend on how much of a core each side gets. Beside other load that is not the same for both: ours also works off jobs and
 * hears of changes with what it gets. So the promise is about the CPU time of a page, with what ours does anyway taken off.
 */
async function throughput(url: string, pid: number) {
  await sleep(500); // the page as it is now is rendered
  const answer = await fetch(url + path, { headers: { 'accept-encoding': 'identity' } });
  const body = await answer.text();
  const same = Object.fromEntries([...answer.headers].filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name)));
  const bare = fork(fileURLToPath(new URL('./http/bare-server.ts', import.meta.url)));
  const load = loadGenerator();
  try {
    bare.send({ headers: same, body });
    const [barePort] = (await once(bare, 'message')) as [number];
    const sides = { ours: Number(new URL(url).port), bare: barePort };
    const pids = { ours: pid, bare: bare.pid! };
    const results: Record<keyof typeof sides, (Result & { micros: number })[]> = { ours: [], bare: [] };
    const resting = cpuOf(pid);
    await sleep(5_000);
    const atRest = (cpuOf(pid) - resting) / 5;
    const play = (port: number, forSeconds: number) => load.play({ port, path, headers: {}, connections, seconds: forSeconds });
    for (const port of Object.values(sides)) await play(port, 4); // the optimizing compiler needs a few seconds of traffic
    for (let n = 0; n < rounds; n++)
      for (const side of n % 2 ? (['bare', 'ours'] as const) : (['ours', 'bare'] as const)) {
        const before = cpuOf(pids[side]);
        const played = await play(sides[side], seconds);
        const spent = cpuOf(pids[side]) - before - (side === 'ours' ? atRest * seconds : 0);
        results[side].push({ ...played, micros: spent / (played.perSecond * seconds) });
      }
    const ratios = results.ours.map((r, n) => r.perSecond / results.bare[n]!.perSecond);
    const costs = results.ours.map((r, n) => r.micros / results.bare[n]!.micros);
    figure(
      `GET ${path} (${Buffer.byteLength(body)} bytes), ${connections} connections`,
      median(results.ours.map((r) => r.perSecond)),
      '/s',
      '',
    );
    figure('  p99', median(results.ours.map((r) => r.p99)), 'ms', '');
    figure('bare node:http with the same bytes', median(results.bare.map((r) => r.perSecond)), '/s', '');
    figure(`  ratio, median of ${rounds} interleaved (${reach(ratios)}), load ${loadavg()[0]!.toFixed(1)}`, median(ratios), '', '');
    figure(`CPU of a page (${reach(results.ours.map((r) => r.micros))})`, median(results.ours.map((r) => r.micros)), 'µs', '');
    figure(`  bare (${reach(results.bare.map((r) => r.micros))})`, median(results.bare.map((r) => r.micros)), 'µs', '');
    figure(`  ratio (${reach(costs)})`, median(costs), '', '≤ 2', median(costs) <= 2);
    figure('CPU of ours at rest, of one core', atRest / 1e4, '%', '');
    figure('bytes of the page', Buffer.byteLength(body), 'B', '< 30000', Buffer.byteLength(body) < 30_000);
  } finally {
    load.stop();
    bare.disconnect();
  }
}

/** One process publishes and retracts; the other, under readers, is asked until it shows and no longer shows it. */
async function visibility(owner: Caller, second: string, incidents: string[]) {
  const readers = fork(fileURLToPath(import.meta.url), ['readers', second + path]);
  const agent = new http.Agent({ keepAlive: true });
  try {
    await once(readers, 'message'); // they read
    const shown: number[] = [];
    const gone: number[] = [];
    for (let n = 0; n < publications; n++) {
      const words = `publication number ${n}.`;
      let began = performance.now();
      const { id } = await good(owner.post(`/oncall/incidents/${incidents[0]}/updates`, { body: words }));
      await until(agent, second + path, (text) => text.includes(words));
      shown.push(performance.now() - began);
      began = performance.now();
      await good(owner.delete(`/oncall/incidents/${incidents[0]}/updates/${id}`));
      await until(agent, second + path, (text) => !text.includes(words));
      gone.push(performance.now() - began);
    }
    readers.send('stop');
    const [told] = (await once(readers, 'message')) as [{ perSecond: number; p99: number; failed: number }];
    figure(
      'readers of the second process',
      told.perSecond,
      '/s',
      `≥ ${0.95 * readersPerSecond}`,
      told.perSecond >= 0.95 * readersPerSecond,
    );
    figure('  p99 of their answers', told.p99, 'ms', '');
    figure('  failed', told.failed, '', '0', told.failed === 0);
    figure(`published until seen there, median of ${publications}`, median(shown), 'ms', '');
    figure('  p99', p99(shown), 'ms', '< 1000', p99(shown) < 1_000);
    figure('retracted until gone there, median', median(gone), 'ms', '');
    figure('  p99', p99(gone), 'ms', '< 1000', p99(gone) < 1_000);
  } finally {
    agent.destroy();
    readers.disconnect();
  }
}

const get = (agent: http.Agent, url: string) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    http
      .get(url, { agent }, (answer) => {
        const parts: Buffer[] = [];
        answer
          .on('data', (part) => parts.push(part))
          .on('end', () => resolve({ status: answer.statusCode!, text: Buffer.concat(parts).toString() }));
      })
      .on('error', reject);
  });

async function until(agent: http.Agent, url: string, holds: (text: string) => boolean) {
  while (!holds((await get(agent, url)).text)) await sleep(2);
}

/** In a process of its own: so many readers a second, whether or not the ones before have been answered. */
async function read(url: string) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 200 });
  const times: number[] = [];
  let failed = 0;
  let asked = 0;
  const began = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor(((performance.now() - began) / 1000) * readersPerSecond);
    for (; asked < due; asked++) {
      const sent = performance.now();
      get(agent, url).then(
        ({ status }) => (status === 200 ? times.push(performance.now() - sent) : failed++),
        () => failed++,
      );
    }
  }, 5);
  setTimeout(() => process.send!('reading'), 1_000);
  await once(process, 'message');
  clearInterval(timer);
  process.send!({ perSecond: (times.length / (performance.now() - began)) * 1000, p99: p99(times), failed });
}

if (process.argv[2] === 'readers') {
  process.on('disconnect', () => process.exit());
  await read(process.argv[3]!);
} else await measure();
