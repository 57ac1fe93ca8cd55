/**
 * What email promises, measured beside postfix: the whole program in a process of its own, its PostgreSQL with fsync; one load generator and
 * one sink for both, in turns. `npm run bench -- email`, or some parts of it: `npm run bench -- email accept whole rsa idle stalled neighbours hooks
 * webhooks inbound beside large bounces`. Needs Debian's postfix and opendkim. With QUARTERDECK_BENCH_BEFORE, an installed checkout of another version,
 * "before" takes mail in turns with that one.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism, loadavg } from 'node:os';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../test/harness/free-port.ts';
import { measureIdle, measureNeighbours, measureStalled } from './email/backlog.ts';
import { measureBounces, withoutSisimai } from './email/bounces.ts';
import { measureBesideInbound, measureBesideWebhooks, measureLarge } from './email/contention.ts';
import { measureRsaAlone, measureWhole, type WholeOptions } from './email/end-to-end.ts';
import { startPostfix } from './email/peers.ts';
import { startOurs } from './email/quarterdeck.ts';
import { handIn } from './email/submit.ts';
import { measureWebhooks } from './email/webhooks.ts';

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

const load = (port: number, logins: string[] = [], count = messages, to?: string) =>
  handIn({ port, sessions, count, bytes, logins, ...(to && { to }) });

/** Messages a second that are taken in. */
const accepted = async (...handed: Parameters<typeof load>) => messages / ((await load(...handed)).ms / 1_000);

const options: WholeOptions = { context, ends, load, messages, rounds, sessions };

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
    const theirs = await accepted(postfixPort);
    await postfix.empty();
    const own = await accepted(ours.port, ours.logins);
    if (round === 0) before = ours.cpu();
    if (round === 0) continue; // warms both up
    rates.theirs.push(theirs);
    rates.ours.push(own);
  }
  tellCpu('accepted', ours, before, rounds * messages);
  compare('accepted, with fsync (sending is another process)', rates.ours, rates.theirs, 3);
}

/** As `accept`, beside an installed checkout of another version instead of postfix. */
async function measureAcceptBefore(checkout: string) {
  const sinkPort = await freePort();
  const start = async (from?: string) => {
    const ours = await startOurs(context, { sinkPort, roles: 'api,smtp', keys: sessions, checkout: from });
    ends.push(() => ours.stop());
    await accepted(ours.port, ours.logins);
    return { ours, cpu: ours.cpu(), rates: [] as number[] };
  };
  const [now, before] = [await start(), await start(checkout)];
  for (let round = 0; round < 2 * rounds; round++)
    for (const side of round % 2 ? [now, before] : [before, now]) side.rates.push(await accepted(side.ours.port, side.ours.logins));
  tellCpu('accepted', now.ours, now.cpu, 2 * rounds * messages);
  tellCpu('accepted by the version before', before.ours, before.cpu, 2 * rounds * messages);
  compare('accepted, beside the version before', now.rates, before.rates, 0.95, 'before');
}

/** Mail for us, on disk, read and judged by SPF, DKIM, DMARC and ARC, and frozen for its endpoint; postfix takes it and looks at nothing. */
async function measureInbound() {
  const [postfixPort, sinkPort] = [await freePort(), await freePort()];
  const postfix = await startPostfix(postfixPort, sinkPort);
  ends.push(() => postfix.stop());
  await postfix.hold();
  // No events are delivered here: the role `worker` runs in another process.
  const ours = await startOurs(context, { sinkPort, roles: 'api,smtp', keys: 0, receives: true });
  ends.push(() => ours.stop());
  const rates = { taken: [] as number[], told: [] as number[], theirs: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const theirs = await accepted(postfixPort);
    await postfix.empty();
    const before = await ours.told();
    const began = performance.now();
    const taken = await accepted(ours.inbound, [], messages, 'somebody@example.com');
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

async function compareWhole() {
  const { ours, before, count, rates } = await measureWhole(options);
  tellCpu('end to end', ours, before, count);
  compare('end to end, RSA and ed25519 signed, recorded', rates.ours, rates.theirs, 1.3);
}

async function compareRsaAlone() {
  const rates = await measureRsaAlone(options);
  compare('end to end, RSA alone, recorded', rates.ours, rates.bare, 1.5);
  compare('the same', rates.ours, rates.signing, 5, 'postfix with opendkim');
}

/** What is handed in while mail arrives, or what large messages take of memory. */
async function measureSubmission(act: (ours: Ours) => Promise<void>) {
  const ours = await startOurs(context, { sinkPort: await freePort(), roles: 'api,smtp', keys: sessions, receives: true });
  ends.push(() => ours.stop());
  await act(ours);
}

/** How quickly reports of failure are read. */
function compareBounces() {
  if (withoutSisimai()) return console.log('bounces: skipped, since Debian’s libsisimai-perl is not installed');
  const { ours, theirs, mails } = measureBounces(rounds);
  compare(`reports read and classified, ${mails} mails`, ours, theirs, 2, 'libsisimai');
}

async function endAll() {
  for (const end of ends.splice(0).reverse()) await end();
}

/** Nothing that one part has begun still runs beside the next. */
async function measurePart(name: string, act: () => Promise<unknown>) {
  if (!isWanted(name)) return;
  try {
    await act();
  } finally {
    await endAll();
  }
}

try {
  if (['accept', 'whole', 'rsa', 'inbound'].some(isWanted)) execFileSync('which', ['smtp-sink', 'postfix']);
  console.log(
    `${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}; ${sessions} sessions, ${bytes} bytes, ${messages} messages, ${rounds} rounds in turns`,
  );
  await measurePart('accept', measureAccept);
  const checkout = process.env['QUARTERDECK_BENCH_BEFORE'];
  if (checkout) await measurePart('before', () => measureAcceptBefore(checkout));
  await measurePart('whole', compareWhole);
  await measurePart('rsa', compareRsaAlone);
  await measurePart('idle', () => measureIdle(options, tellFigure));
  await measurePart('stalled', () => measureStalled(options, tellFigure));
  await measurePart('neighbours', () => measureNeighbours(options, tellFigure));
  await measurePart('hooks', () => measureBesideWebhooks(options, tellFigure));
  await measurePart('webhooks', () => measureWebhooks(tellFigure));
  await measurePart('inbound', measureInbound);
  await measurePart('beside', () => measureSubmission((ours) => measureBesideInbound(ours, messages, rounds, tellFigure)));
  await measurePart('large', () => measureSubmission((ours) => measureLarge(ours, tellFigure)));
  await measurePart('bounces', async () => compareBounces());
} finally {
  await endAll();
}
