/** What one thing costs another: submission beside mail that arrives, sending beside webhooks, and memory beside large submissions. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { connectRunning } from '../../src/kernel/postgres/connection.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { makeWhole, type WholeOptions } from './end-to-end.ts';
import { startSink } from './peers.ts';
import { startOurs } from './quarterdeck.ts';
import { handIn } from './submit.ts';
import { addEndpoint, startEndpoint } from './webhooks.ts';

type Ours = Awaited<ReturnType<typeof startOurs>>;
type Figure = (what: string, value: string, isMet: boolean) => void;

const mebibyte = 2 ** 20;

const residentOf = (pid: number): number => Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))![1]) * 1_024;

/** Messages a second that are taken, by so many sessions. */
async function load(handing: Omit<Parameters<typeof handIn>[0], 'bytes'>): Promise<number> {
  const { ms } = await handIn({ ...handing, bytes: 5_120 });
  return handing.count / (ms / 1_000);
}

/** The submission door by itself and while 100 a second arrive, in turns. */
export async function measureBesideInbound(ours: Ours, messages: number, rounds: number, figure: Figure): Promise<void> {
  const rates = { alone: [] as number[], beside: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const submitted = { port: ours.port, sessions: 20, count: messages, logins: ours.logins };
    const alone = await load(submitted);
    const arrives = { port: ours.inbound, sessions: 5, count: Math.ceil((100 * messages) / alone) };
    const arriving = load({ ...arrives, to: 'somebody@example.com', perSecond: 100 });
    const beside = await load(submitted);
    await arriving;
    if (round === 0) continue;
    rates.alone.push(alone);
    rates.beside.push(beside);
  }
  const kept = middle(rates.beside) / middle(rates.alone);
  const told = `${Math.round(middle(rates.beside))} of ${Math.round(middle(rates.alone))}/s, ${kept.toFixed(2)} of it, asked 0.8`;
  figure('submission beside 100/s that arrive', told, kept >= 0.8);
}

const webhooksPerSecond = 500;
const middle = (of: number[]) => of.toSorted((a, b) => a - b)[Math.floor(of.length / 2)]!;

/** Mail that is sent by itself, and while an endpoint hears of 500 events a second, in turns. */
export async function measureBesideWebhooks(
  { context, ends, load: hand, messages, sessions }: WholeOptions,
  figure: Figure,
): Promise<void> {
  const sinkPort = await freePort();
  const sink = await startSink(sinkPort);
  ends.push(() => sink.stop());
  const endpoint = await startEndpoint();
  ends.push(() => endpoint.stop());
  const ours = await startOurs(context, { sinkPort, roles: 'api,worker,smtp', keys: sessions });
  ends.push(() => ours.stop());
  const whole = makeWhole(sink, hand);
  const count = Math.ceil(messages / 2);
  const endpointId = await addEndpoint(await ours.owner(), `${endpoint.url}/quick`, 'email.failed');
  const rates = { alone: [] as number[], beside: [] as number[], webhooks: [] as number[] };
  await whole(ours.port, ours.logins, count);
  for (let round = 0; round < 3; round++) {
    const alone = await whole(ours.port, ours.logins, count);
    // For as long as it takes if half of the rate is kept: whatever is left then is waited for before the next round.
    const due = Math.ceil(webhooksPerSecond * ((2 * count) / alone + 1));
    const before = endpoint.count();
    await addDeliveries(ours, endpointId, due, round);
    await sleep(1_000);
    const [heardBefore, began] = [endpoint.count(), performance.now()];
    rates.beside.push(await whole(ours.port, ours.logins, count));
    rates.webhooks.push((endpoint.count() - heardBefore) / ((performance.now() - began) / 1_000));
    rates.alone.push(alone);
    while (endpoint.count() < before + due) await sleep(100);
  }
  const kept = middle(rates.beside.map((rate, n) => rate / rates.alone[n]!));
  const heard = middle(rates.webhooks);
  const told = `${Math.round(middle(rates.beside))} of ${Math.round(middle(rates.alone))}/s, ${kept.toFixed(2)} of it, asked 0.7; ${Math.round(heard)} webhooks/s`;
  figure(`sent beside ${webhooksPerSecond} webhooks/s`, told, kept >= 0.7 && heard >= 0.9 * webhooksPerSecond);
}

/** Due one after the other, written where they stand. */
async function addDeliveries({ dataDir }: Ours, endpointId: string, count: number, round: number): Promise<void> {
  const client = new pg.Client(await connectRunning(dataDir));
  await client.connect();
  await client.query(
    `with endpoint as (select org_id, id from email.webhook where id = $1),
     event as (insert into email.webhook_event (org_id, id, type, payload, created_at)
       select org_id, 'evt_bench' || $2::int, 'email.failed', '{"type":"email.failed","timestamp":"2026-11-16T00:00:00.000Z","data":{}}', kernel.now() from endpoint returning id),
     delivery as (insert into email.delivery (org_id, endpoint_id, event_id, event_type, state, created_at)
       select endpoint.org_id, endpoint.id, event.id, 'email.failed', 'pending', kernel.now()
         from endpoint, event, generate_series(1, $3::int) returning id, org_id)
     insert into kernel.job (lane, kind, key, payload, org_id, run_at, created_at)
     select 'webhook', 'email.deliver-webhook', id::text, jsonb_build_object('id', id, 'endpointId', $1::text), org_id,
            kernel.now() + make_interval(secs => row_number() over (order by id) / ${webhooksPerSecond}::float8), kernel.now()
       from delivery`,
    [endpointId, round, count],
  );
  await client.end();
}

/** Fifty messages of 20 MB at once by SMTP: what the program takes more at its highest. */
export async function measureLarge(ours: Ours, figure: Figure): Promise<void> {
  await load({ port: ours.port, sessions: 20, count: 500, logins: ours.logins });
  const before = residentOf(ours.pid()!);
  let most = before;
  const watching = setInterval(() => {
    most = Math.max(most, residentOf(ours.pid()!));
  }, 50);
  // A key has 20 connections at once, so these are of several.
  const loginOf = (n: number) => {
    const at = (2 * n) % ours.logins.length;
    return [ours.logins[at]!, ours.logins[at + 1]!] as const;
  };
  const sent = await Promise.all(Array.from({ length: 50 }, (_, n) => sendLarge(ours.port, ...loginOf(n))));
  clearInterval(watching);
  const more = (most - before) / mebibyte;
  const taken = sent.filter((answer) => answer.startsWith('250')).length;
  figure('50 submissions of 20 MB at once', `${taken} taken, + ${more.toFixed(0)} MiB, asked < 96 MiB`, more < 96 && taken === 50);
}

/** Until it takes more, or is closed. */
async function goesOn(socket: Socket): Promise<void> {
  const heard = new AbortController();
  const until = (event: string) => once(socket, event, { signal: heard.signal });
  await Promise.race([until('drain'), until('close')]).catch(() => {});
  heard.abort();
}

/** What its answer to the message was. */
async function sendLarge(port: number, user: string, password: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  const replies: string[] = [];
  socket.on('error', () => {}).on('close', () => replies.push('000 it was closed'));
  socket.setEncoding('latin1').on('data', (text: string) => replies.push(...text.split('\r\n').filter((line) => /^\d{3} /.test(line))));
  const reply = async () => {
    while (replies.length === 0) await sleep(5);
    return replies.shift()!;
  };
  const login = Buffer.from(`\0${user}\0${password}`).toString('base64');
  await reply();
  const lines = ['EHLO load.example.com', `AUTH PLAIN ${login}`, 'MAIL FROM:<load@example.com>', 'RCPT TO:<somebody@far.example>', 'DATA'];
  for (const line of lines) {
    socket.write(`${line}\r\n`);
    const answer = await reply();
    if (!/^[23]/.test(answer)) return answer;
  }
  const piece = `${'x'.repeat(998)}\r\n`.repeat(64);
  socket.write('From: <load@example.com>\r\nTo: <somebody@far.example>\r\nSubject: large\r\n\r\n');
  for (let bytes = 0; bytes < 20_000_000 && !socket.destroyed; bytes += piece.length) if (!socket.write(piece)) await goesOn(socket);
  socket.write('.\r\n');
  const answer = await reply();
  socket.destroy();
  return answer;
}
