/** From the program that hands mail in to the mail server that takes it, beside postfix: bare, and with opendkim. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { watchCalm } from '../../test/harness/calm.ts';
import { freePort } from '../../test/harness/free-port.ts';
import { startOpendkim, startPostfix, startSink } from './peers.ts';
import { startOurs } from './quarterdeck.ts';
import type { HandedIn } from './submit.ts';

type Ours = Awaited<ReturnType<typeof startOurs>>;
type Load = (port: number, logins?: string[], count?: number) => Promise<HandedIn>;

export interface WholeOptions {
  context: TestContext;
  ends: (() => unknown)[];
  load: Load;
  messages: number;
  rounds: number;
  sessions: number;
}

/** Messages a second, from the first that is handed in until the sink has all of them. */
export const makeWhole = (sink: { taken(): number }, load: Load) => async (port: number, logins: string[] | undefined, count: number) => {
  const before = sink.taken();
  const { began } = await load(port, logins, count);
  for (let waited = 0; sink.taken() < before + count; waited++) {
    if (waited > 12_000) throw new Error(`${sink.taken() - before} of ${count} messages arrived`);
    await sleep(10);
  }
  return count / ((Date.now() - began) / 1_000);
};

const mostPatience = 3;

/** Warm, and then in turns. A round in which the machine's host took processors away does not count, as long as there are others. */
async function inTurns<T>(rounds: number, round: () => Promise<T>, isWarm?: () => void): Promise<T[]> {
  await round();
  isWarm?.();
  const calmly: T[] = [];
  const all: T[] = [];
  const calm = watchCalm();
  while (calmly.length < rounds && all.length < mostPatience * rounds) {
    const from = performance.now();
    const result = await round();
    all.push(result);
    if (calm.since(from) >= 0.95 * (performance.now() - from)) calmly.push(result);
  }
  calm.stop();
  if (calmly.length === all.length) return all;
  const isEnough = calmly.length === rounds;
  console.log(
    `the host took processors away in ${all.length - calmly.length} of ${all.length} rounds, which ${isEnough ? 'do not count' : 'count all the same, since too few are left'}`,
  );
  return isEnough ? calmly : all;
}

/** Both signatures beside bare postfix. */
export async function measureWhole({ context, ends, load, messages, rounds, sessions }: WholeOptions) {
  const [postfixPort, sinkPort] = [await freePort(), await freePort()];
  const sink = await startSink(sinkPort);
  ends.push(() => sink.stop());
  const postfix = await startPostfix(postfixPort, sinkPort);
  ends.push(() => postfix.stop());
  const ours = await startOurs(context, { sinkPort, roles: 'api,worker,smtp', keys: sessions });
  ends.push(() => ours.stop());
  const whole = makeWhole(sink, load);
  let [before, count] = [ours.cpu(), 0];
  const round = async () => {
    const theirs = await whole(postfixPort, undefined, messages);
    count += messages;
    return { theirs, ours: await whole(ours.port, ours.logins, messages) };
  };
  const isWarm = () => {
    [before, count] = [ours.cpu(), 0];
  };
  const rates = await inTurns(rounds, round, isWarm);
  return { ours, before, count, rates: { ours: rates.map((r) => r.ours), theirs: rates.map((r) => r.theirs) } };
}

/** RSA alone beside bare postfix, and beside postfix with opendkim, which gets a quarter of the messages since it is slow. */
export async function measureRsaAlone({ context, ends, load, messages, rounds, sessions }: WholeOptions) {
  const [barePort, signingPort, milterPort, sinkPort] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const sink = await startSink(sinkPort);
  ends.push(() => sink.stop());
  const bare = await startPostfix(barePort, sinkPort);
  ends.push(() => bare.stop());
  const opendkim = await startOpendkim(milterPort);
  ends.push(() => opendkim.stop());
  const signing = await startPostfix(signingPort, sinkPort, opendkim.milter);
  ends.push(() => signing.stop());
  const nodeFlags = ['--import', join(import.meta.dirname, 'rsa-alone.ts')];
  const ours: Ours = await startOurs(context, { sinkPort, roles: 'api,worker,smtp', keys: sessions, nodeFlags });
  ends.push(() => ours.stop());
  const whole = makeWhole(sink, load);
  const rates = await inTurns(rounds, async () => ({
    bare: await whole(barePort, undefined, messages),
    signing: await whole(signingPort, undefined, Math.ceil(messages / 4)),
    ours: await whole(ours.port, ours.logins, messages),
  }));
  return { bare: rates.map((r) => r.bare), signing: rates.map((r) => r.signing), ours: rates.map((r) => r.ours) };
}
