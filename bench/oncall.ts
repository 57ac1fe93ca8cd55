/**
 * What on-call promises, measured: the whole program in a process of its own, its PostgreSQL with fsync, a mail server beside it.
 * `npm run bench -- oncall`, or some parts of it: `npm run bench -- oncall pages ingestion schedules`. With
 * QUARTERDECK_BENCH_BEFORE, an installed checkout of another version, its ingestion is measured in turns with ours.
 */
import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fakeSmtp } from '../test/fakes/smtp.ts';
import { startServer } from '../test/harness/process.ts';
import { type Caller, caller } from '../test/harness/request.ts';

const openBefore = 1_000;
const perSecond = 100;
const measuredSeconds = 10;
const waitSeconds = 15;
/** The most that an organization may have. */
const scheduleCount = 200;

function figure(what: string, value: number, unit: string, target: string, met?: boolean) {
  const verdict = met === undefined ? '' : met ? 'met' : 'MISSED';
  console.log(`${what.padEnd(66)} ${value.toFixed(value < 100 ? 1 : 0).padStart(9)} ${unit.padEnd(9)} ${target.padEnd(10)} ${verdict}`);
  if (met === false) process.exitCode = 1;
}

const at = (sorted: number[], share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
const ascending = (a: number, b: number) => a - b;

/** So many at once, in order of the list. */
async function each<T, R>(items: readonly T[], atOnce: number, act: (item: T, i: number) => Promise<R>): Promise<R[]> {
  const results: R[] = new Array(items.length);
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const i = next++;
      results[i] = await act(items[i]!, i);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
const good = async (answer: Promise<{ status: number; body: any }>): Promise<any> => {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
};

let again = 0;
/** As Alertmanager does it: what is not taken now is delivered again. */
async function deliver({ key, path }: Entry, alerts: object[]): Promise<{ accepted: number }> {
  for (;;) {
    const { status, body } = await key.post(path, { alerts });
    if (status === 200) return body;
    if (status < 500) throw new Error(`${status} ${JSON.stringify(body)}`);
    again++;
    await sleep(400);
  }
}

interface Entry {
  path: string;
  key: Caller;
  /** An organization has at most 1,000 sources. */
  revoke(): Promise<unknown>;
}

/** A service with a policy and an alert source. */
async function entry(owner: Caller, url: string, name: string, policyId: string): Promise<Entry> {
  const { id } = await good(owner.post('/oncall/services', { name }));
  await good(owner.put(`/oncall/services/${id}`, { escalationPolicyId: policyId }));
  const source = await good(owner.post('/oncall/alert-sources', { name, serviceId: id }));
  const revoke = () => good(owner.delete(`/oncall/alert-sources/${source.id}`));
  return { path: `/oncall/alert-sources/${source.id}/alerts`, key: caller(url, source.token), revoke };
}

const firing = (fingerprint: string, summary = fingerprint) => ({
  status: 'firing',
  labels: { alertname: 'Down', instance: fingerprint, severity: 'critical', job: 'bench' },
  annotations: { summary },
  startsAt: '2026-11-01T10:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prometheus.example/graph',
  fingerprint,
});

async function policy(owner: Caller, waits: number[]): Promise<{ id: string }> {
  const target = { kind: 'user', id: (await good(owner.get('/me'))).id, label: 'bench' };
  return good(
    owner.post('/oncall/escalation-policies', { name: 'bench', repeat: 0, steps: waits.map((w) => ({ target, waitSeconds: w })) }),
  );
}

async function pages(owner: Caller, url: string, arrived: Map<string, number>) {
  const quiet = await policy(owner, [86_400]);
  const twice = await policy(owner, [waitSeconds, 86_400]);
  const before = Array.from({ length: openBefore }, (_, i) => `before ${i}`);
  await each(before, 8, async (name) => {
    const its = await entry(owner, url, name, quiet.id);
    await deliver(its, [firing(name)]);
    await its.revoke();
  });
  const entries = await each(
    Array.from({ length: perSecond * measuredSeconds }, (_, i) => `measured ${i}`),
    8,
    (name) => entry(owner, url, name, twice.id),
  );
  while (arrived.size < openBefore) await sleep(50);

  const began = performance.now();
  const sent: number[] = [];
  const answered: number[] = [];
  await Promise.all(
    entries.map(async (its, i) => {
      await sleep(Math.max(0, began + (i * 1000) / perSecond - performance.now()));
      sent[i] = performance.now();
      await deliver(its, [firing(`measured ${i}`)]);
      answered[i] = performance.now();
    }),
  );
  while (entries.some((_, i) => !arrived.has(`measured ${i}`))) await sleep(20);
  const latencies = entries.map((_, i) => Math.max(0, arrived.get(`measured ${i}`)! - answered[i]!)).sort(ascending);
  const whole = entries.map((_, i) => arrived.get(`measured ${i}`)! - sent[i]!).sort(ascending);
  const answers = entries.map((_, i) => answered[i]! - sent[i]!).sort(ascending);
  figure(`delivery answered, ${perSecond}/s, ${openBefore} incidents open: p50`, at(answers, 0.5), 'ms', '');
  figure('                                                    p99', at(answers, 0.99), 'ms', '');
  figure('alert accepted → page with the mail server: p50', at(latencies, 0.5), 'ms', '');
  figure('                                            p99', at(latencies, 0.99), 'ms', '< 500', at(latencies, 0.99) < 500);
  figure('alert sent → page with the mail server:     p99', at(whole, 0.99), 'ms', '');

  await sleep((waitSeconds + 2) * 1000 - (performance.now() - answered.at(-1)!));
  const late: number[] = [];
  // The list shows a hundred; resolving what was seen brings up the rest.
  for (;;) {
    const { incidents } = await good(owner.get('/oncall/incidents'));
    const fresh = incidents.filter((i: { title: string }) => i.title.startsWith('measured'));
    if (!fresh.length) break;
    await each(fresh as { id: string }[], 8, async (i) => {
      const detail = await good(owner.get(`/oncall/incidents/${i.id}`));
      const second = detail.timeline.filter((e: { kind: string }) => e.kind === 'step_fired')[1];
      late.push(second ? Date.parse(second.at) - Date.parse(detail.openedAt) - waitSeconds * 1000 : Number.POSITIVE_INFINITY);
      await good(owner.post(`/oncall/incidents/${i.id}/resolve`));
    });
  }
  if (late.length !== entries.length) throw new Error(`${entries.length} incidents were opened, ${late.length} found`);
  late.sort(ascending);
  figure('escalation step after its time: p50', at(late, 0.5), 'ms', '');
  figure('                                p99', at(late, 0.99), 'ms', '< 100', at(late, 0.99) < 100);
  await each(entries, 8, (its) => its.revoke());
}

async function ingestion(owner: Caller, url: string) {
  const { id: policyId } = await policy(owner, [86_400]);
  const rate = async (what: string, sources: number, target: number | undefined, delivery: (n: number) => object[]) => {
    const entries = await each(
      Array.from({ length: sources }, (_, i) => `${what} ${i}`),
      4,
      (name) => entry(owner, url, name, policyId),
    );
    const until = performance.now() + 6_000;
    const began = performance.now();
    let taken = 0;
    let n = 0;
    const sender = async (_: unknown, i: number) => {
      while (performance.now() < until) {
        const { accepted } = await deliver(entries[i % entries.length]!, delivery(n++));
        taken += accepted;
      }
    };
    await each(Array.from({ length: 12 }), 12, sender);
    const value = taken / ((performance.now() - began) / 1000);
    figure(what, value, 'alerts/s', target ? `≥ ${target}` : '', target ? value >= target : undefined);
  };
  const ten = (name: (i: number) => string) => Array.from({ length: 10 }, (_, i) => firing(name(i)));
  await rate('new alerts in groups of 10, 12 senders, 12 services', 12, 1_000, (n) => ten((i) => `new ${n} ${i}`));
  await rate('new alerts in groups of 10, 12 senders, one service', 1, undefined, (n) => ten((i) => `one ${n} ${i}`));
  await rate('repeated alerts in groups of 10, 12 senders, 12 services', 12, 1_000, () => ten((i) => `same ${i}`));
}

const median = (list: number[]) => list.toSorted(ascending)[Math.floor(list.length / 2)]!;

/** New alerts into this version and into another, slice by slice in turns: the machine's mood is the same for both. */
async function compareIngestion(sides: { name: string; owner: Caller; url: string; rates: number[] }[]) {
  const entriesOf = new Map<object, Entry[]>();
  for (const side of sides) {
    const { id } = await policy(side.owner, [86_400]);
    entriesOf.set(side, await each(range(12), 4, (i) => entry(side.owner, side.url, `compared ${i}`, id)));
  }
  let n = 0;
  for (let turn = 0; turn < comparedTurns; turn++) {
    for (const side of turn % 2 ? sides.toReversed() : sides) {
      const until = performance.now() + comparedMs;
      let taken = 0;
      const began = performance.now();
      await each(range(12), 12, async (i) => {
        while (performance.now() < until) {
          const delivery = n++;
          const alerts = range(10).map((k) => firing(`compared ${delivery} ${k}`));
          const { accepted } = await deliver(entriesOf.get(side)![i]!, alerts);
          taken += accepted;
        }
      });
      side.rates.push((taken * 1000) / (performance.now() - began));
    }
  }
  for (const { name, rates } of sides) figure(`new alerts in turns of ${comparedMs / 1000} s, ${name}`, median(rates), 'alerts/s', '');
  const [ours, theirs] = sides;
  figure('  ours to the version before, median of the turns', median(ours!.rates.map((r, i) => r / theirs!.rates[i]!)), '×', '');
}

const comparedTurns = 21;
const comparedMs = 2_000;
const range = (length: number) => Array.from({ length }, (_, i) => i);

async function schedules(owner: Caller) {
  const me = (await good(owner.get('/me'))).id;
  const zones = ['Europe/Paris', 'America/Chicago', 'Asia/Tokyo', 'Australia/Lord_Howe', 'America/Sao_Paulo'];
  await each(Array.from({ length: scheduleCount }), 8, (_, i) =>
    good(
      owner.post('/oncall/schedules', {
        name: `schedule ${i}`,
        timezone: zones[i % zones.length],
        participants: [
          { userId: me, label: 'a' },
          { userId: me, label: 'b' },
        ],
        handoff: { interval: i % 2 ? 'daily' : 'weekly', time: '09:00' },
      }),
    ),
  );
  const times: number[] = [];
  for (let i = 0; i < 30; i++) {
    const began = performance.now();
    const { schedules: found } = await good(owner.get('/oncall/schedules'));
    times.push(performance.now() - began);
    if (found.length !== scheduleCount || !found[0].onCallNow) throw new Error('not every schedule was answered');
  }
  times.sort(ascending);
  figure(`who is on call in ${scheduleCount} schedules, one call: p50`, at(times, 0.5), 'ms', '< 100', at(times, 0.5) < 100);
  figure('                                           worst of 30', times.at(-1)!, 'ms', '');
}

async function besideVersionBefore(checkout: string, ours: { owner: Caller; url: string }) {
  const place = await realpath(await mkdtemp(join(tmpdir(), 'qd-bench-')));
  await chmod(place, 0o755);
  const { server: before, end: endBefore } = startServer({ dir: place, checkout, env: { QUARTERDECK_LOG_LEVEL: 'warn' } });
  try {
    const url = await before.ready;
    const owner = await before.owner();
    await compareIngestion([
      { name: 'this version', ...ours, rates: [] },
      { name: 'the version before', owner, url, rates: [] },
    ]);
  } finally {
    await before.stopped().catch(() => {});
    await endBefore();
    await rm(place, { recursive: true, force: true, maxRetries: 10 });
  }
}

const closers: (() => unknown)[] = [];
const dir = await realpath(await mkdtemp(join(tmpdir(), 'qd-bench-')));
await chmod(dir, 0o755);
const smtp = await fakeSmtp({ after: (act: () => unknown) => closers.push(act) } as unknown as TestContext);
const arrived = new Map<string, number>();
smtp.received.push = (...mails) => {
  for (const { data } of mails) {
    const title = /Subject: .*?((?:before|measured) \d+)\s*$/m.exec(data)?.[1];
    if (title && !arrived.has(title)) arrived.set(title, performance.now());
  }
  return arrived.size;
};
const { server, end } = startServer({ dir, env: { QUARTERDECK_SMTP_RELAY: smtp.url, QUARTERDECK_LOG_LEVEL: 'warn' } });
try {
  const url = await server.ready;
  const owner = await server.owner();
  console.log(`${availableParallelism()} cores, shared by PostgreSQL, the server, the mail server and this program\n`);
  const wanted = process.argv.slice(3);
  const part = (name: string) => !wanted.length || wanted.includes(name);
  if (part('pages')) await pages(owner, url, arrived);
  if (part('ingestion')) await ingestion(owner, url);
  const checkout = process.env['QUARTERDECK_BENCH_BEFORE'];
  if (checkout && part('before')) await besideVersionBefore(checkout, { owner, url });
  if (part('schedules')) await schedules(owner);
  if (again) console.log(`${again} deliveries were answered 503 and delivered again`);
} finally {
  await server.stopped().catch(() => {});
  await end();
  for (const close of closers) close();
  if (server.stderr()) console.error(server.stderr().slice(-2_000));
  await rm(dir, { recursive: true, force: true, maxRetries: 10 });
}
