/** What very much mail that waits costs those whose mail does not: rows are written where they stand, since handing them in is not what is measured. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectRunning } from '../../src/kernel/postgres/connection.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { makeWhole, type WholeOptions } from './end-to-end.ts';
import { startSink } from './peers.ts';
import { startOurs } from './quarterdeck.ts';

type Ours = Awaited<ReturnType<typeof startOurs>>;
type Figure = (what: string, value: string, isMet: boolean) => void;

const queued = Number(process.env.QUARTERDECK_BENCH_QUEUED ?? 100_000);
const stalledSites = 100;
const mebibyte = 2 ** 20;
const middle = (of: number[]) => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)]!;
const at = (of: number[], share: number) => of.toSorted((a, b) => a - b)[Math.min(of.length - 1, Math.floor(of.length * share))]!;

const statusOf = (pid: number, field: string): number =>
  Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]);
const residentOf = (pid: number): number => statusOf(pid, 'VmRSS') * 1_024;

async function inDatabase<T>({ dataDir }: Ours, act: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(await connectRunning(dataDir));
  await client.connect();
  try {
    return await act(client);
  } finally {
    await client.end();
  }
}

/** Recipients of another organization, fifty a message, of which the content is that of a message which was handed in. */
const addQueued = (ours: Ours, domains: string[]) =>
  inDatabase(ours, async (client) => {
    await client.query('begin');
    await client.query(
      `insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, message_id,
                                  body_key, body_offset, body_bytes, header_bytes, body_hash)
       select 'org_elsewhere', kernel.new_id('msg'), 'send', 'queued', kernel.now(), kernel.now(), 'smtp', m.domain_id, m.sender, '{}', '{}', m.message_id,
              m.body_key, m.body_offset, m.body_bytes, m.header_bytes, m.body_hash
         from (select * from email.message where direction = 'send' and org_id <> 'org_elsewhere' order by id limit 1) m, generate_series(1, ${queued / 50})`,
    );
    await client.query(
      `insert into email.recipient (org_id, message_id, address, folded, state, state_at, run_at)
       select 'org_elsewhere', m.id, a.address, a.address, 'queued', kernel.now(), kernel.now()
         from email.message m, generate_series(1, 50) n,
              lateral (select 'r' || n || '@' || ($1::text[])[1 + (n + abs(hashtext(m.id))) % cardinality($1::text[])] as address) a
        where m.org_id = 'org_elsewhere'`,
      [domains],
    );
    await client.query('commit');
  });

const begin = async ({ context, ends, load, sessions }: WholeOptions, env: Record<string, string> = {}) => {
  const sinkPort = await freePort();
  const sink = await startSink(sinkPort);
  ends.push(() => sink.stop());
  const ours = await startOurs(context, { sinkPort, roles: 'api,worker,smtp', keys: sessions, env });
  ends.push(() => ours.stop());
  return { ours, sinkPort, sink, whole: makeWhole(sink, load) };
};

/** A mail server that takes connections and says nothing. */
async function startSilence(context: TestContext, port: number): Promise<void> {
  const open = new Set<Socket>();
  const server = createServer((socket) => void open.add(socket.on('error', () => {})));
  await once(server.listen(port, '127.0.1.1'), 'listening');
  context.after(() => {
    server.close();
    for (const socket of open) socket.destroy();
  });
}

/** One organization has very many for sites that say nothing; another's for a site that answers. */
export async function measureStalled(options: WholeOptions, figure: Figure): Promise<void> {
  const { ours, sinkPort, whole } = await begin(options);
  const count = Math.ceil(options.messages / 2);
  await whole(ours.port, ours.logins, count);
  const alone = [await whole(ours.port, ours.logins, count), await whole(ours.port, ours.logins, count)];
  await startSilence(options.context, sinkPort);
  const domains = Array.from({ length: stalledSites }, (_, n) => `stalled-${n}.example`);
  for (const name of domains) {
    ours.zone[name] = { MX: [{ preference: 10, exchange: `mx.${name}` }] };
    ours.zone[`mx.${name}`] = { A: ['127.0.1.1'] };
  }
  const before = residentOf(ours.pid());
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, residentOf(ours.pid()));
  }, 100);
  await addQueued(ours, domains);
  await sleep(5_000);
  const beside = [];
  for (let round = 0; round < 3; round++) beside.push(await whole(ours.port, ours.logins, count));
  clearInterval(watching);
  const kept = middle(beside) / middle(alone);
  const told = `${Math.round(middle(beside))} of ${Math.round(middle(alone))}/s, ${kept.toFixed(2)} of it, asked 0.9`;
  figure(`a site that answers, beside ${queued} for ${stalledSites} that stall`, told, kept >= 0.9);
  figure('what these take of memory', `+ ${((most - before) / mebibyte).toFixed(0)} MiB, asked < 64 MiB`, most - before < 64 * mebibyte);
}

const seconds = 20;

/** One organization has very many for a site; another's mail to it, and pages by mail, do not wait for them. */
export async function measureNeighbours(options: WholeOptions, figure: Figure): Promise<void> {
  const { ours, whole } = await begin(options, {
    QUARTERDECK_MAIL_FROM: 'Quarterdeck <pages@example.com>',
    QUARTERDECK_OWNER_EMAIL: 'owner@far.example',
  });
  await whole(ours.port, ours.logins, 500);
  const service = await addPagedService(ours);
  await pageOnce(ours, service);
  await addQueued(ours, ['far.example']);
  await sleep(2_000);
  const since = await inDatabase(ours, async (client) => (await client.query('select kernel.now() as now')).rows[0].now as string);
  for (let n = 0; n < seconds; n++) {
    const beside = options.load(ours.port, ours.logins.slice(0, 2), 1);
    await ours
      .owner()
      .then((owner) => owner.post('/oncall/incidents', { serviceId: service, title: `measured ${String(n).padStart(3, '0')}` }));
    await beside;
    await sleep(500);
  }
  await sleep(2_000);
  const { mail, pages, left } = await inDatabase(ours, async (client) => {
    const one = async (text: string) => (await client.query(text, [since])).rows.map(({ ms }) => Number(ms));
    return {
      mail: await one(`select extract(epoch from coalesce(sent_at, 'infinity') - created_at) * 1000 as ms from email.message
                        where org_id <> 'org_elsewhere' and door = 'smtp' and created_at > $1`),
      pages: await one(`select coalesce((select extract(epoch from m.created_at - i.opened_at) * 1000 from email.message m
                                          where m.door = 'relay' and m.subject like '%' || i.title || '%' order by m.id limit 1), 'infinity') as ms
                          from oncall.incident i where i.opened_at > $1`),
      left: Number(
        (await client.query(`select count(*) as n from email.recipient where org_id = 'org_elsewhere' and done_at is null`)).rows[0].n,
      ),
    };
  });
  const tell = (of: number[]) => `p50 ${at(of, 0.5).toFixed(0)} ms, p99 ${at(of, 0.99).toFixed(0)} ms of ${of.length}`;
  figure(`mail beside ${queued} of another organization to its site`, `${tell(mail)}, asked < 1000 ms`, at(mail, 0.99) < 1_000);
  figure('a page by mail beside them', `${tell(pages)}, asked p99 < 500 ms (${left} still waited at the end)`, at(pages, 0.99) < 500);
}

/** That its domain is verified the server's own mail hears within seconds. */
async function pageOnce(ours: Ours, serviceId: string): Promise<void> {
  await (await ours.owner()).post('/oncall/incidents', { serviceId, title: 'not measured' });
  const sent = () => inDatabase(ours, async (client) => (await client.query(`select from email.message where door = 'relay'`)).rowCount);
  for (let waited = 0; (await sent()) === 0; waited++) {
    if (waited > 300) throw new Error('no page left');
    await sleep(100);
  }
}

async function addPagedService(ours: Ours): Promise<string> {
  const owner = await ours.owner();
  const target = { kind: 'user', id: (await owner.get('/me')).body.id, label: 'bench' };
  const { body: policy } = await owner.post('/oncall/escalation-policies', {
    name: 'bench',
    repeat: 0,
    steps: [{ target, waitSeconds: 86_400 }],
  });
  const { body: made } = await owner.post('/oncall/services', { name: 'bench' });
  await owner.put(`/oncall/services/${made.id}`, { escalationPolicyId: policy.id });
  return made.id;
}

/** What email takes before anybody used it: the program with its roles, and without. */
export async function measureIdle({ context, sessions }: WholeOptions, figure: Figure): Promise<void> {
  const found = [];
  for (const roles of ['api', 'api,worker,smtp']) {
    const ours = await startOurs(context, { sinkPort: await freePort(), roles, keys: sessions, isFresh: true });
    await sleep(5_000);
    found.push({ rss: residentOf(ours.pid()) / mebibyte, threads: statusOf(ours.pid(), 'Threads') });
    await ours.stop();
  }
  const [without, idle] = found as [(typeof found)[0], (typeof found)[0]];
  const told = `${idle.rss.toFixed(0)} MiB with ${idle.threads} threads; ${without.rss.toFixed(0)} MiB with ${without.threads} without sending and doors`;
  figure('before the first message', told, idle.threads === without.threads && idle.rss - without.rss < 16);
}
