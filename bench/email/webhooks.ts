/**
 * Webhooks: how many a second one endpoint gets when thousands wait, and how long after the event it hears of it, also while another
 * organization has very many due to an endpoint that hangs.
 */
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectRunning } from '../../src/kernel/postgres/connection.ts';
import { startServer } from '../../test/harness/process.ts';
import type { Caller } from '../../test/harness/request.ts';

const waiting = Number(process.env.QUARTERDECK_BENCH_WEBHOOKS ?? 3_000);
const dueElsewhere = Number(process.env.QUARTERDECK_BENCH_ELSEWHERE ?? 100_000);
const perSecond = 20;
const seconds = 15;

/** An endpoint in a process of its own: tells the time at which it heard of each address. */
export async function startEndpoint() {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'endpoint.ts')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const heard = new Map<string, number>();
  let count = 0;
  const { promise: port, resolve } = Promise.withResolvers<number>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const [what, at] = line.split(' ') as [string, string];
    count++;
    if (what === 'port') resolve(Number(at));
    else if (!heard.has(what)) heard.set(what, Number(at));
  });
  return { url: `http://127.0.0.1:${await port}`, heard, count: () => count, stop: () => void child.kill() };
}

const now = () => performance.timeOrigin + performance.now();
const at = (times: number[], share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))]!;

async function suppress(owner: Caller, addresses: readonly string[], atOnce: number): Promise<void> {
  let next = 0;
  const one = async () => {
    for (let i = next++; i < addresses.length; i = next++) {
      const { status, body } = await owner.post('/email/suppressions', { address: addresses[i] });
      if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

/** From the answer to the request that made the event until the endpoint has it. */
async function measureDelays(owner: Caller, heard: Map<string, number>, name: string): Promise<number[]> {
  const answered = new Map<string, number>();
  const began = now();
  await Promise.all(
    Array.from({ length: perSecond * seconds }, async (_, i) => {
      await sleep(Math.max(0, began + (i * 1_000) / perSecond - now()));
      const address = `${name}-${i}@far.example`;
      await suppress(owner, [address], 1);
      answered.set(address, now());
    }),
  );
  for (let waited = 0; [...answered.keys()].some((address) => !heard.has(address)); waited++) {
    if (waited > 600) throw new Error('not every event was told within a minute');
    await sleep(100);
  }
  return [...answered].map(([address, time]) => Math.max(0, heard.get(address)! - time)).sort((a, b) => a - b);
}

export async function addEndpoint(owner: Caller, url: string, type: string): Promise<string> {
  const { status, body } = await owner.post('/email/webhooks', { url, eventTypes: [type] });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.webhook.id;
}

export async function measureWebhooks(figure: (what: string, value: string, isMet: boolean) => void): Promise<void> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-bench-')));
  await chmod(dir, 0o755);
  const endpoint = await startEndpoint();
  const env = {
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
    QUARTERDECK_RATE_LIMIT: '0',
    QUARTERDECK_LOG_LEVEL: 'error',
    QUARTERDECK_DNS_SERVERS: '127.0.0.1:1',
  };
  const begin = (roles: string) => startServer({ dir, env: { ...env, QUARTERDECK_ROLES: roles } });
  let { server, end } = begin('api');
  try {
    await server.ready;
    await addEndpoint(await server.owner(), `${endpoint.url}/quick`, 'suppression.created');
    const hanging = await addEndpoint(await server.owner(), `${endpoint.url}/hangs`, 'email.failed');
    const addresses = Array.from({ length: waiting }, (_, i) => `waiting-${i}@far.example`);
    await suppress(await server.owner(), addresses, 8);
    await end();
    ({ server, end } = begin('api,worker'));
    await server.ready;
    while (endpoint.heard.size < waiting) await sleep(20);
    const times = [...endpoint.heard.values()];
    const rate = (waiting - 1) / ((Math.max(...times) - Math.min(...times)) / 1_000);
    figure(`${waiting} that waited, to one endpoint`, `${Math.round(rate)}/s, asked 500/s`, rate >= 500);

    const owner = await server.owner();
    const alone = await measureDelays(owner, endpoint.heard, 'alone');
    const tell = (of: number[]) => `p50 ${at(of, 0.5).toFixed(0)} ms, p99 ${at(of, 0.99).toFixed(0)} ms, asked p99 < 500 ms`;
    figure(`event to endpoint, ${perSecond}/s`, tell(alone), at(alone, 0.99) < 500);
    await addHanging(dir, hanging);
    await sleep(3_000);
    const beside = await measureDelays(owner, endpoint.heard, 'beside');
    figure(`the same beside ${dueElsewhere} due to one that hangs`, tell(beside), at(beside, 0.99) < 500);
  } finally {
    await server.stopped().catch(() => {});
    await end();
    endpoint.stop();
    await rm(dir, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** Another organization's, written where they stand: making so many by requests would take an hour. */
async function addHanging(dir: string, endpointId: string): Promise<void> {
  const client = new pg.Client(await connectRunning(join(dir, 'data')));
  await client.connect();
  await client.query('begin');
  await client.query(`update email.webhook set org_id = 'org_elsewhere' where id = $1`, [endpointId]);
  await client.query(
    `with event as (insert into email.webhook_event (org_id, id, type, payload, created_at)
       values ('org_elsewhere', 'evt_elsewhere', 'email.failed', '{}', kernel.now()) returning id),
     delivery as (insert into email.delivery (org_id, endpoint_id, event_id, event_type, state, created_at)
       select 'org_elsewhere', $1::text, event.id, 'email.failed', 'pending', kernel.now() from event, generate_series(1, ${dueElsewhere}) returning id)
     insert into kernel.job (lane, kind, key, payload, org_id, run_at, created_at)
     select 'webhook', 'email.deliver-webhook', id::text, jsonb_build_object('id', id, 'endpointId', $1::text), 'org_elsewhere', kernel.now(), kernel.now()
       from delivery`,
    [endpointId],
  );
  await client.query('commit');
  await client.end();
}
