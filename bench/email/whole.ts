/** From the program that hands mail in to the mail server that takes it, beside postfix: bare, and with opendkim. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../test/harness/free-port.ts';
import { startOurs } from './ours.ts';
import { startOpendkim, startPostfix, startSink } from './peers.ts';

type Ours = Awaited<ReturnType<typeof startOurs>>;
type Load = (port: number, logins?: string[], count?: number) => Promise<unknown>;

export interface WholeOptions {
  context: TestContext;
  ends: (() => unknown)[];
  load: Load;
  messages: number;
  rounds: number;
  sessions: number;
}

/** Messages a second until the sink has all of them. */
export const makeWhole = (sink: { taken(): number }, load: Load) => async (port: number, logins: string[] | undefined, count: number) => {
  const before = sink.taken();
  const began = performance.now();
  await load(port, logins, count);
  for (let waited = 0; sink.taken() < before + count; waited++) {
    if (waited > 12_000) throw new Error(`${sink.taken() - before} of ${count} messages arrived`);
    await sleep(10);
  }
  return count / ((performance.now() - began) / 1_000);
};

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
  const rates = { ours: [] as number[], theirs: [] as number[] };
  let before = ours.cpu();
  for (let round = 0; round <= rounds; round++) {
    const theirs = await whole(postfixPort, undefined, messages);
    const own = await whole(ours.port, ours.logins, messages);
    if (round === 0) before = ours.cpu();
    if (round === 0) continue;
    rates.theirs.push(theirs);
    rates.ours.push(own);
  }
  return { ours, before, count: rounds * messages, rates };
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
  const rates = { ours: [] as number[], bare: [] as number[], signing: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const theirs = await whole(barePort, undefined, messages);
    const signed = await whole(signingPort, undefined, Math.ceil(messages / 4));
    const own = await whole(ours.port, ours.logins, messages);
    if (round === 0) continue;
    rates.bare.push(theirs);
    rates.signing.push(signed);
    rates.ours.push(own);
  }
  return rates;
}
