/**
 * What email promises, measured beside postfix: the whole program in a process of its own, its PostgreSQL with fsync; one load generator and
 * one sink for both, in turns. `npm run bench -- email`, or some parts of it: `npm run bench -- email accept whole webhooks inbound beside large bounces`. Needs Debian's postfix.
 */
import { execFile, execFileSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from '../test/harness/free-port.ts';
import { measureBesideInbound, measureLarge } from './email/beside.ts';
import { measureBounces, withoutSisimai } from './email/bounces.ts';
import { startOurs } from './email/ours.ts';
import { startPostfix, startSink } from './email/peers.ts';
import { measureWebhooks } from './email/webhooks.ts';

const run = promisify(execFile);
const sessions = 20;
const bytes = 5_120;
const messages = Number(process.env.QUARTERDECK_BENCH_MESSAGES ?? 4_000);
const rounds = Number(process.env.QUARTERDECK_BENCH_ROUNDS ?? 5);
const wanted = process.argv.slice(3);
const isWanted = (part: string) => wanted.length === 0 || wanted.includes(part);

const median = (of: number[]) => [...of].sort((a, b) => a - b)[Math.floor(of.length / 2)]!;
const spread = (of: number[]) => `${Math.round(Math.min(...of))}–${Math.round(Math.max(...of))}`;

function compare(what: string, ours: number[], theirs: number[], target: number, peer = 'postfix') {
  const ratio = median(ours.map((rate, i) => rate / theirs[i]!));
  const isMet = ratio >= target;
  const side = (name: string, of: number[]) => `${name} ${Math.round(median(of))}/s (${spread(of)})`;
  console.log(
    `${what.padEnd(52)} ${side('quarterdeck', ours)}, ${side(peer, theirs)}: ${ratio.toFixed(2)} x, asked ${target} x ${isMet ? 'met' : 'MISSED'}`,
  );
  if (!isMet) process.exitCode = 1;
}

function tellFigure(what: string, value: string, isMet: boolean) {
  console.log(`${what.padEnd(52)} ${value} ${isMet ? 'met' : 'MISSED'}`);
  if (!isMet) process.exitCode = 1;
}

const ends: (() => unknown)[] = [];
const context = { after: (act: () => unknown) => ends.push(act) } as unknown as TestContext;

type Ours = Awaited<ReturnType<typeof startOurs>>;

/** What a thousand messages cost, which is comparable also on a machine that others use. */
function tellCpu(what: string, { cpu }: Ours, before: ReturnType<Ours['cpu']>, count: number) {
  const after = cpu();
  const each = (part: 'node' | 'postgres') => (((after[part] - before[part]) * 1_000) / count).toFixed(2);
  console.log(`${`${what}: CPU seconds for 1,000 messages`.padEnd(52)} node ${each('node')}, PostgreSQL ${each('postgres')}`);
}

/** Milliseconds until everything was taken in. */
const load = async (port: number, logins: string[] = [], to = 'somebody@far.example') => {
  const program = join(import.meta.dirname, 'email', 'load.ts');
  const { stdout } = await run(process.execPath, [program, String(port), String(sessions), String(messages), String(bytes), ...logins], {
    env: { ...process.env, QUARTERDECK_BENCH_TO: to },
  });
  return Number(stdout);
};

async function measureAccept() {
  const [postfixPort, sinkPort] = [await freePort(), await freePort()];
  const postfix = await startPostfix(postfixPort, sinkPort);
  ends.push(() => postfix.stop());
  await postfix.hold();
  const ours = await startOurs(context, { sinkPort, roles: 'api,smtp', keys: sessions });
  ends.push(() => ours.stop());
  const rates = { ours: [] as number[], theirs: [] as number[] };
  let before = ours.cpu();
  for (let round = 0; round <= rounds; round++) {
    const theirs = messages / ((await load(postfixPort)) / 1000);
    await postfix.empty();
    const own = messages / ((await load(ours.port, ours.logins)) / 1000);
    if (round === 0) before = ours.cpu();
    if (round === 0) continue; // warms both up
    rates.theirs.push(theirs);
    rates.ours.push(own);
  }
  tellCpu('accepted', ours, before, rounds * messages);
  compare('accepted, with fsync (sending is another process)', rates.ours, rates.theirs, 3);
}

/** Mail for us, on disk, read and judged by SPF, DKIM, DMARC and ARC, and frozen for its endpoint; postfix takes it and looks at nothing. */
async function measureInbound() {
  const [postfixPort, sinkPort] = [await freePort(), await freePort()];
  const postfix = await startPostfix(postfixPort, sinkPort);
  ends.push(() => postfix.stop());
  await postfix.hold();
  // Nobody is told here: the role `worker` is another process's.
  const ours = await startOurs(context, { sinkPort, roles: 'api,smtp', keys: 0, receives: true });
  ends.push(() => ours.stop());
  const rates = { taken: [] as number[], told: [] as number[], theirs: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const theirs = messages / ((await load(postfixPort)) / 1000);
    await postfix.empty();
    const before = await ours.told();
    const began = performance.now();
    const taken = messages / ((await load(ours.inbound, [], 'somebody@example.com')) / 1000);
    while ((await ours.told()) < before + messages) await sleep(200);
    const told = messages / ((performance.now() - began) / 1000);
    if (round === 0) continue;
    rates.theirs.push(theirs);
    rates.taken.push(taken);
    rates.told.push(told);
  }
  console.log(`taken in and on disk, while it is read: ${Math.round(median(rates.taken))}/s (${spread(rates.taken)})`);
  compare('received, authenticated, on disk, frozen', rates.told, rates.theirs, 0.4);
}

async function measureWhole() {
  const [postfixPort, sinkPort] = [await freePort(), await freePort()];
  const sink = await startSink(sinkPort);
  ends.push(() => sink.stop());
  const postfix = await startPostfix(postfixPort, sinkPort);
  ends.push(() => postfix.stop());
  const ours = await startOurs(context, { sinkPort, roles: 'api,worker,smtp', keys: sessions });
  ends.push(() => ours.stop());
  const whole = async (port: number, logins?: string[]) => {
    const before = sink.taken();
    const began = performance.now();
    await load(port, logins);
    for (let waited = 0; sink.taken() < before + messages; waited++) {
      if (waited > 12_000) throw new Error(`${sink.taken() - before} of ${messages} messages arrived`);
      await sleep(10);
    }
    return messages / ((performance.now() - began - startMs) / 1000);
  };
  // What starting the load generator takes is no part of it.
  const startMs = 0;
  const rates = { ours: [] as number[], theirs: [] as number[] };
  let before = ours.cpu();
  for (let round = 0; round <= rounds; round++) {
    const theirs = await whole(postfixPort);
    const own = await whole(ours.port, ours.logins);
    if (round === 0) before = ours.cpu();
    if (round === 0) continue;
    rates.theirs.push(theirs);
    rates.ours.push(own);
  }
  tellCpu('end to end', ours, before, rounds * messages);
  compare('end to end, RSA and ed25519 signed, recorded', rates.ours, rates.theirs, 1.3);
}

/** What is handed in while mail arrives, and what large messages take of memory. */
async function measureSubmission() {
  const ours = await startOurs(context, { sinkPort: await freePort(), roles: 'api,smtp', keys: sessions, receives: true });
  ends.push(() => ours.stop());
  if (isWanted('beside')) await measureBesideInbound(ours, messages, rounds, tellFigure);
  if (isWanted('large')) await measureLarge(ours, tellFigure);
}

/** How quickly reports of failure are read. */
function compareBounces() {
  if (withoutSisimai()) return console.log('bounces: skipped, since Debian’s libsisimai-perl is not installed');
  const { ours, theirs, mails } = measureBounces(rounds);
  compare(`reports read and classified, ${mails} mails`, ours, theirs, 2, 'libsisimai');
}

try {
  if (isWanted('accept') || isWanted('whole')) execFileSync('which', ['smtp-sink', 'postfix']);
  console.log(
    `${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}; ${sessions} sessions, ${bytes} bytes, ${messages} messages, ${rounds} rounds in turns`,
  );
  if (isWanted('accept')) await measureAccept();
  if (isWanted('whole')) await measureWhole();
  if (isWanted('webhooks')) await measureWebhooks(tellFigure);
  if (isWanted('inbound')) await measureInbound();
  if (isWanted('beside') || isWanted('large')) await measureSubmission();
  if (isWanted('bounces')) compareBounces();
} finally {
  for (const end of ends.reverse()) await end();
}
