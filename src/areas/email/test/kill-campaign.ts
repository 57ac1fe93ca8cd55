import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type FakeDns, fakeDns } from '../../../../test/fakes/dns.ts';
import { type SinkStage, smtpSink } from '../../../../test/fakes/smtp-sink.ts';
import { freePort } from '../../../../test/harness/free-port.ts';
import { type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { freshDatabase, urlOf } from '../../../../test/harness/postgres.ts';
import { eventually, postgresOf, type ServerProcess, scratch, serverProcess } from '../../../../test/harness/process.ts';
import { type Caller, caller } from '../../../../test/harness/request.ts';
import { adminHere, sqlOn } from '../../../admin/test/support.ts';
import type { Connection } from '../../../kernel/db/index.ts';
import { connectRunning } from '../../../kernel/postgres/index.ts';
import { publish } from '../domains/test/domains/published.ts';
import { type Letter, type Load, loadOn } from './kill-load.ts';
import { mailEnv, withoutOthers } from './mail-scene.ts';

// Whole servers, killed without a word while mail comes in by SMTP and HTTP, leaves, and is written down.

export interface CampaignOptions {
  /** One: with the embedded database, which syncs what it commits. Two: on an external one, with one data directory. */
  servers: 1 | 2;
  /** Loaded into each server, with the environment that it asks for: die-at points. */
  nodeFlags?: string[];
  /** Its servers have no other area. */
  isEmailAlone?: boolean;
}

/** A copy that the mail server took. */
interface Copy {
  token: string;
  to: string;
  session: number;
  at: number;
  /** The sender spoke again in that session: it had read that this copy was taken. */
  wasRead: boolean;
}

export interface Campaign {
  load: Load;
  /** Starts those that are not running. */
  revive(env?: Record<string, string>): Promise<void>;
  kill(which: number, alsoDatabase?: boolean): Promise<void>;
  /** A server in this process in place of a dead one: it does the same, and loads nothing. It stays to the end. */
  succeed(which: number): Promise<void>;
  servers: (ServerProcess | undefined)[];
  /** Until nothing is under way any more; then what became of each message must hold. */
  conclude(): Promise<{
    letters: number;
    accepted: number;
    bySmtp: number;
    unanswered: number;
    refused: number;
    copies: number;
    doubles: number;
  }>;
}

export async function campaign(t: TestContext, options: CampaignOptions): Promise<Campaign> {
  const { servers: count, nodeFlags = [], isEmailAlone = false } = options;
  const { dir, dataDir } = await scratch(t);
  const external = count === 2 ? await freshDatabase() : undefined;
  if (external) t.after(external.drop);
  const { sink, copies } = await watchfulSink(t);
  const dns = await fakeDns(t, {
    'far.example': { MX: [{ preference: 10, exchange: 'mx.far.example' }] },
    'mx.far.example': { A: ['127.0.0.1'] },
  });
  const ports = await Promise.all(Array.from({ length: count }, freePort));
  const servers: (ServerProcess | undefined)[] = [];
  const heirs: (Quarterdeck | undefined)[] = [];
  const envOf = (n: number) => ({
    ...mailEnv(dns, sink),
    QUARTERDECK_EMAIL_DAILY_QUOTA: '1000000',
    QUARTERDECK_PUBLIC_URL: 'http://mail.host.example',
    QUARTERDECK_SMTP_SUBMISSION: `127.0.0.1:${ports[n]}`,
    QUARTERDECK_LOG_LEVEL: process.env.QUARTERDECK_TEST_LOG ?? 'silent',
    ...(external ? { QUARTERDECK_DATABASE_URL: urlOf(external.connection) } : {}),
  });
  const start = (n: number, env: Record<string, string>) =>
    serverProcess(t, {
      dir,
      dataDir,
      env: { ...envOf(n), ...env },
      nodeFlags: [...(isEmailAlone ? withoutOthers : []), ...(Object.keys(env).length > 0 ? nodeFlags : [])],
    });
  const revive = async (env: Record<string, string> = {}) => {
    for (let n = 0; n < count; n++) {
      if (servers[n]) continue;
      const server = start(n, env);
      servers[n] = server;
      void server.exited.then(() => {
        if (servers[n] === server) servers[n] = undefined;
      });
    }
    // One that is told to die may do so before it is ready.
    await Promise.all(servers.map((server) => (Object.keys(env).length > 0 ? server?.ready.catch(() => undefined) : server?.ready)));
  };
  await revive();

  const where = { QUARTERDECK_DATA: dataDir, ...(external ? { QUARTERDECK_DATABASE_URL: urlOf(external.connection) } : {}) };
  const token = (await adminHere(['token'], where)).out.trim();
  const load = loadOn({
    secret: await makeKey(caller(await servers[0]!.ready, token), dns),
    doors: Array.from({ length: count }, (_, n) => ({
      smtp: ports[n]!,
      url: async () => heirs[n]?.url ?? servers[n]?.ready.catch(() => undefined),
    })),
  });
  t.after(load.stop);
  return {
    load,
    revive,
    servers,
    async kill(which, alsoDatabase = false) {
      const database = alsoDatabase && !external ? await postgresOf(dataDir) : undefined;
      if (database) process.kill(database, 'SIGKILL');
      await servers[which]?.killed();
      servers[which] = undefined;
    },
    async succeed(which) {
      heirs[which] = await quarterdeck(t, { connection: external!.connection, dataDir, env: envOf(which) });
    },
    async conclude() {
      await load.stop();
      if (heirs.length === 0) await revive();
      const connection = external?.connection ?? (await connectRunning(dataDir))!;
      await settleDown(connection, () => sink.count);
      const log = await readLog(caller(heirs.find(Boolean)?.url ?? (await servers[0]!.ready), token));
      for (const heir of heirs) await heir?.stop(); // before its database goes
      return judge(load.letters, copies, log);
    },
  };
}

/** The secret of a key that sends for a verified domain. */
async function makeKey(owner: Caller, dns: FakeDns): Promise<string> {
  const { body: domain } = await owner.post('/email/domains', { name: 'example.com' });
  publish(dns, domain.dnsRecords);
  await owner.post(`/email/domains/${domain.id}/check`);
  await eventually(async () => (await owner.get(`/email/domains/${domain.id}`)).body.sendState === 'verified');
  return (await owner.post('/email/keys', { name: 'load' })).body.secret;
}

/** Takes everything, but refuses `gone-…` by a policy of its own, for which no sender is paused, and says "later" to `grey-…` the first time. */
async function watchfulSink(t: TestContext) {
  const copies: Copy[] = [];
  const seen = new Set<string>();
  const last = new Map<number, Copy>();
  const at = (stage: SinkStage, line: string, session: number) => {
    const before = last.get(session);
    if (before && stage !== 'dot') before.wasRead = true;
    const who = /<([^>]*)>/.exec(line)?.[1] ?? '';
    if (stage !== 'rcpt') return undefined;
    if (who.startsWith('gone-')) return '550 5.7.1 this message is not wanted here';
    if (who.startsWith('grey-') && !seen.has(who)) {
      seen.add(who);
      return '451 4.7.1 greylisted, try again in 1 minute';
    }
    return undefined;
  };
  const sink = await smtpSink(t, { at });
  // The sink pushes what it takes, in the turn in which it says so.
  sink.messages.push = (...taken) => {
    for (const { to, data, session } of taken) {
      const token = /^Subject: (\S+)/m.exec(data.toString('latin1'))?.[1] ?? '';
      assert.match(data.toString('latin1'), new RegExp(`the body of ${token}\\b`), 'what arrives is what was handed in');
      const copy = { token, to: to[0]!, session, at: performance.now(), wasRead: false };
      copies.push(copy);
      last.set(session, copy);
    }
    return 0;
  };
  return { sink, copies };
}

/** Leases of the dead lapse, and what was greylisted comes again. The clock moves only while nothing is on its way. */
async function settleDown(connection: Connection, count: () => number): Promise<void> {
  const open = async () =>
    (await sqlOn<{ open: number }>(connection, `select count(*)::int as open from email.recipient where done_at is null`))[0]!.open;
  for (let turns = 0; ; turns++) {
    for (let quiet = 0, last = ''; quiet < 6; await sleep(200)) {
      const seen = `${await open()} ${count()}`;
      quiet = seen === last ? quiet + 1 : 0;
      last = seen;
    }
    const left = await open();
    if (left === 0) return;
    assert.ok(turns < 20, `${left} recipients are still open`);
    await sqlOn(connection, `update kernel.clock set clock_offset = clock_offset + interval '70 seconds'`);
  }
}

interface Logged {
  id: string;
  state: string;
  fates: Map<string, string[]>;
  content: string;
}

/** Everything that the log has, by subject. */
async function readLog(owner: Caller): Promise<Map<string, Logged[]>> {
  const found = new Map<string, Logged[]>();
  for (let cursor = ''; ; ) {
    const { status, body } = await owner.get(`/email/messages${cursor && `?cursor=${cursor}`}`);
    assert.equal(status, 200, JSON.stringify(body));
    const read = async ({ id, subject, state }: { id: string; subject: string; state: string }) => {
      const fates = new Map<string, string[]>();
      const { events } = (await owner.get(`/email/messages/${id}`)).body as { events: { kind: string; recipient?: string }[] };
      for (const { kind, recipient } of events) if (recipient) fates.set(recipient, [...(fates.get(recipient) ?? []), kind]);
      const { body: content } = await owner.get(`/email/messages/${id}/content`);
      found.set(subject, [...(found.get(subject) ?? []), { id, state, fates, content: String(content) }]);
    };
    for (let at = 0; at < body.messages.length; at += 10) await Promise.all(body.messages.slice(at, at + 10).map(read));
    if (!body.cursor) return found;
    cursor = body.cursor;
  }
}

function judge(letters: readonly Letter[], copies: readonly Copy[], log: ReadonlyMap<string, Logged[]>) {
  const byPlace = Map.groupBy(copies, ({ token, to }) => `${token} ${to}`);
  let doubles = 0;
  for (const { token, to, answer } of letters) {
    const logged = log.get(token) ?? [];
    const story = `${token} (${answer}): ${JSON.stringify(logged.map(({ content, fates, ...rest }) => ({ ...rest, fates: [...fates] })))}`;
    if (answer === 'accepted') assert.equal(logged.length, 1, `accepted, and not once in the log: ${story}`);
    if (answer === 'refused') assert.equal(logged.length, 0, `refused, and in the log: ${story}`);
    assert.ok(logged.length <= 1, `taken twice: ${story}`);
    const [message] = logged;
    if (message) {
      assert.ok(message.content.includes(`the body of ${token}\r\n`), `its content is not there: ${story}`);
      const isBounced = to.some((who) => who.startsWith('gone-'));
      assert.equal(message.state, isBounced ? 'bounced' : 'delivered', story);
    }
    for (const who of to) {
      const taken = byPlace.get(`${token} ${who}`) ?? [];
      const fate = message && (who.startsWith('gone-') ? 'bounced' : 'delivered');
      assert.deepEqual(message?.fates.get(who) ?? [], fate ? [fate] : [], `${who}: ${story}`);
      if (fate === 'delivered') assert.ok(taken.length >= 1, `${who} never got it: ${story}`);
      else assert.equal(taken.length, 0, `${who} got what was not to be sent: ${story}`);
      // A sender that read the final 250 never sends the message again.
      for (const { wasRead } of taken.slice(0, -1))
        assert.equal(wasRead, false, `${who} got it again although the answer was read: ${story}`);
      doubles += Math.max(0, taken.length - 1);
    }
  }
  const of = (answer: Letter['answer']) => letters.filter((letter) => letter.answer === answer).length;
  return {
    letters: letters.length,
    accepted: of('accepted'),
    bySmtp: letters.filter(({ door, answer }) => door === 'smtp' && answer === 'accepted').length,
    unanswered: of('unanswered'),
    refused: of('refused'),
    copies: copies.length,
    doubles,
  };
}

/** Rounds of load with a kill at a random moment of each. */
export async function randomKills(t: TestContext, { servers, rounds, roundMs }: { servers: 1 | 2; rounds: number; roundMs: number }) {
  const { load, kill, revive, conclude } = await campaign(t, { servers });
  for (let round = 0; round < rounds; round++) {
    load.start();
    const enough = load.accepted() + 20;
    await eventually(async () => load.accepted() >= enough, { withinMs: 60_000 });
    await sleep(randomInt(roundMs));
    // Of two, sometimes both; with the database's own processes in the middle of a commit, if it is ours.
    const victims = servers === 1 ? [0] : [[0], [1], [0, 1]][randomInt(3)]!;
    await Promise.all(victims.map((victim) => kill(victim, round % 3 === 2)));
    await sleep(randomInt(300));
    await revive();
  }
  const killed = performance.now();
  const found = await conclude();
  t.diagnostic(`concluded in ${Math.round(performance.now() - killed)} ms`);
  t.diagnostic(`${rounds} kills: ${JSON.stringify(found)}`);
  assert.ok(found.bySmtp >= rounds && found.accepted - found.bySmtp >= rounds, 'mail came in at both doors');
}

/** One of two servers is killed while the other goes on, then the other too; then one takes over, while mail still comes. */
export async function killBoth(t: TestContext, { withinMs }: { withinMs: number }) {
  const { load, kill, succeed, conclude } = await campaign(t, { servers: 2, isEmailAlone: true });
  const acceptMore = async (many: number) => {
    const enough = load.accepted() + many;
    await eventually(async () => load.accepted() >= enough, { withinMs: 60_000 });
    await sleep(randomInt(withinMs));
  };
  load.start();
  await acceptMore(20);
  await kill(0);
  await acceptMore(10);
  await kill(1);
  await succeed(0);
  await acceptMore(10);
  const found = await conclude();
  t.diagnostic(`two kills: ${JSON.stringify(found)}`);
  assert.ok(found.bySmtp >= 2 && found.accepted - found.bySmtp >= 2, 'mail came in at both doors');
}

/** Servers that kill themselves before or after a statement: each step of accepting, sending and writing down. */
export async function killsAtPoints(t: TestContext, points: readonly string[]) {
  const dieAt = import.meta.resolve('../../../../test/harness/die-at.ts');
  const { load, servers, kill, revive, conclude } = await campaign(t, { servers: 1, nodeFlags: [`--import=${dieAt}`] });
  let died = 0;
  for (const point of points) {
    await kill(0);
    await revive({ QD_DIE_AT: `email:${point}` });
    load.start();
    const isDead = async () => servers[0] === undefined;
    await eventually(isDead, { withinMs: 15_000 }).then(
      () => died++,
      () => {},
    );
  }
  await kill(0);
  const found = await conclude();
  t.diagnostic(`${died} of ${points.length} points: ${JSON.stringify(found)}`);
  assert.ok(died >= points.length / 2, `only ${died} servers came to the point where they should die`);
}
