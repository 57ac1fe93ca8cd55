/**
 * What search and overview promise, measured by one caller over HTTP: among 10,000 things, and among 100,000, of which a search looks at the
 * newest. `npm run bench -- overview`.
 */
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { areas } from '../src/areas/index.ts';
import type { App } from '../src/kernel/app.ts';
import { readConfig } from '../src/kernel/config.ts';
import { type Db, run } from '../src/kernel/db/index.ts';
import { makeLog } from '../src/kernel/log.ts';
import { keepPostgres } from '../src/kernel/postgres/index.ts';
import { serve } from '../src/serve.ts';
import { type Caller, caller } from '../test/harness/request.ts';

const requests = 200;
const texts = ['shop', 'order 77', 'app-7', 'nothing at all', 'e', 'inc_0000'];
/** Things of each kind among ten thousand. */
const mix = { services: 1_000, monitors: 4_000, incidents: 2_000, repositories: 1_000, messages: 2_000 };

async function measure() {
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-'));
  await chmod(dir, 0o755);
  const dataDir = join(dir, 'data');
  const postgres = await keepPostgres({ dataDir });
  const env = { QUARTERDECK_RATE_LIMIT: '0', QUARTERDECK_ROLES: 'api' };
  const { config } = readConfig({ QUARTERDECK_DATA: dataDir, QUARTERDECK_LISTEN: '127.0.0.1:0', ...env }, dir);
  const database = { connection: postgres.connection, direct: postgres.connection, embedded: true, stop: () => postgres.stop() };
  const running = await serve({ config, log: makeLog('silent'), areas, database });
  console.log(`${availableParallelism()} cores, shared by everything below; load average before: ${loadavg()[0]!.toFixed(1)}\n`);
  try {
    const owner = caller(running.url, readFileSync(join(dataDir, 'owner.token'), 'utf8').trim());
    await owner.post('/registry/registries', { slug: 'bench', displayName: 'Bench' });
    let made = 0;
    for (const times of [1, 10]) {
      await fill(running.app, made, times);
      made = times;
      await compare(owner, times);
    }
  } finally {
    await running.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** The ids of a kind from the last filling on, up to that many times the mix. */
const numbers = (count: number, from: number, to: number): [number, number] => [count * from + 1, count * to];

async function fill({ db }: App, from: number, to: number) {
  await db.write((tx) => run(tx)`update identity.org set entitlements = '{email,uptime}'`);
  await insertServices(db, numbers(mix.services, from, to));
  await insertMonitors(db, numbers(mix.monitors, from, to));
  await insertIncidents(db, numbers(mix.incidents, from, to));
  await insertRepositories(db, numbers(mix.repositories, from, to));
  await insertMessages(db, numbers(mix.messages, from, to));
  await db.read((tx) => run(tx)`vacuum analyze`);
}

const insertServices = (db: Db, [first, last]: [number, number]) =>
  db.write(
    (tx) => run(tx)`
      insert into services.service (org_id, id, name, created_at)
      select o.id, 'svc_' || lpad(n::text, 26, '0'), 'service ' || n, kernel.now() from identity.org o, generate_series(${first}::int, ${last}::int) n`,
  );

const insertMonitors = (db: Db, [first, last]: [number, number]) =>
  db.write(async (tx) => {
    await run(tx)`
      insert into uptime.monitor (org_id, id, name, enabled, kind, target, interval_seconds, timeout_ms, vantages, confirmations, quorum,
                                  revision, created_at, updated_at)
      select o.id, 'mon_' || lpad(n::text, 26, '0'), 'monitor of shop ' || n, false, 'tcp', '{"host":"a","port":1,"tls":false}', 60, 1000,
             '{local}', 2, 1, n, kernel.now(), kernel.now() from identity.org o, generate_series(${first}::int, ${last}::int) n`;
    await run(tx)`
      insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at)
      select org_id, id, 'up', kernel.now(), kernel.now() from uptime.monitor on conflict do nothing`;
  });

const insertIncidents = (db: Db, [first, last]: [number, number]) =>
  db.write(
    (tx) => run(tx)`
      insert into oncall.incident (org_id, id, service_id, service_name, title, origin, status, opened_at, walk_state)
      select o.id, 'inc_' || lpad(n::text, 26, '0'), 'svc_' || lpad((n % 1000)::text, 26, '0'), 'service', 'checkout is slow ' || n, 'alert',
             case when n % 10 = 0 then 'open' else 'resolved' end, kernel.now(), 'none'
        from identity.org o, generate_series(${first}::int, ${last}::int) n`,
  );

const insertRepositories = (db: Db, [first, last]: [number, number]) =>
  db.write(
    (tx) => run(tx)`
      insert into registry.repository (org_id, registry_id, name, created_at)
      select r.org_id, r.id, 'team/app-' || n, kernel.now() from registry.registry r, generate_series(${first}::int, ${last}::int) n`,
  );

const insertMessages = (db: Db, [first, last]: [number, number]) =>
  db.write(
    (tx) => run(tx)`
      insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, subject,
                                 message_id, body_key, body_offset, body_bytes, header_bytes, body_hash)
      select o.id, 'msg_' || lpad(n::text, 26, '0'), 'send', 'delivered', kernel.now(), kernel.now(), 'http', 'dom_1', 'a@example.com',
             array['b' || n || '@example.com'], '{}', 'your order ' || n, '<1@example.com>', 'mail/x', 0, 5, 0, ''
        from identity.org o, generate_series(${first}::int, ${last}::int) n`,
  );

async function compare(owner: Caller, times: number) {
  const things = times * Object.values(mix).reduce((sum, n) => sum + n);
  console.log(`among ${things.toLocaleString('en')} things, by one caller`);
  const all: number[] = [];
  for (const text of texts) {
    const took = await timesOf(owner, `/search?q=${encodeURIComponent(text)}`);
    console.log(`  search ${JSON.stringify(text)}: p50 ${at(took, 0.5)} ms, p95 ${at(took, 0.95)} ms`);
    all.push(...took);
  }
  const limit = times === 1 ? 50 : undefined;
  figure(`  search, p95 of ${all.length}`, Number(at(all, 0.95)), limit);
  figure('  overview, p95', Number(at(await timesOf(owner, '/overview'), 0.95)), limit);
}

async function timesOf(owner: Caller, path: string): Promise<number[]> {
  const took: number[] = [];
  for (let n = -20; n < requests; n++) {
    const from = performance.now();
    const { status, body } = await owner.get(path);
    if (status !== 200 || body.unavailable.length) throw new Error(`${path} answered ${status} ${JSON.stringify(body).slice(0, 200)}`);
    if (n >= 0) took.push(performance.now() - from);
  }
  return took;
}

const at = (took: readonly number[], share: number): string => took.toSorted((a, b) => a - b)[Math.floor(took.length * share)]!.toFixed(1);

function figure(name: string, ms: number, limit: number | undefined) {
  const verdict = limit === undefined ? '' : ` (at most ${limit}: ${ms <= limit ? 'holds' : 'MISSED'})`;
  console.log(`${name}: ${ms} ms${verdict}`);
  if (limit !== undefined && ms > limit) process.exitCode = 1;
}

await measure();
