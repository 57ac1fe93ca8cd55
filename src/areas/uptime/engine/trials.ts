import { setTimeout as sleep } from 'node:timers/promises';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { type KeyedLimit, makeKeyedLimit } from '../../../kernel/fairness/index.ts';
import { type Guard, parseAllow } from '../../../kernel/guard/index.ts';
import { checkHttp } from '../../../programs/prober/checks/check-http.ts';
import { checkTcp } from '../../../programs/prober/checks/check-tcp.ts';
import { lostMsOf } from '../../../programs/prober/checks/checker.ts';
import { proberGuard } from '../../../programs/prober/checks/guard.ts';
import { type Observation, timedOut } from '../../../programs/prober/checks/observation.ts';
import { systemClock } from '../../../programs/prober/clock.ts';
import { watchLoop } from '../../../programs/prober/health/loop-watch.ts';
import { checksASecond, withoutQueries } from '../../../protocols/agent.ts';
import type { Target } from '../rules/masked-target.ts';

/** At once, in one process. */
const maxTrials = { each: 3, all: 20 };
/** Between the starts of two trials of one host and port, as a prober has it: no host is flooded through us. */
const gapMs = 1_000 / checksASecond;

/** Checks that are made once, of monitors that are not saved. They run in the process that is asked, and nothing of them is stored. */
export interface Trials {
  /** As a prober of this server has it. */
  guard: Guard;
  underWay: KeyedLimit;
  /** When the next trial of a host and port may start, by the monotonic clock. */
  freeAt: Map<string, number>;
}

export const makeTrials = ({ config }: App): Trials => ({
  guard: proberGuard({ allow: parseAllow(config.allow_private_cidrs), dnsServers: config.dns_servers }),
  underWay: makeKeyedLimit(maxTrials),
  freeAt: new Map(),
});

/** How our checks name themselves to those who are checked. */
export const checkUserAgent = (app: App): string => `Quarterdeck-uptime/1 (+${app.publicUrl()})`;

export async function tryTarget(trials: Trials, app: App, org: string, target: Target, timeoutMs: number): Promise<Observation> {
  const release = trials.underWay.acquire(org) ?? refuseTrial();
  try {
    await waitForHost(trials, 'url' in target ? new URL(target.url).host : `${target.host}:${target.port}`);
    return await checkOnce(trials.guard, target, timeoutMs, checkUserAgent(app));
  } finally {
    release();
  }
}

/** At most as many wait as are under way, so the wait is at most two seconds. */
async function waitForHost({ freeAt }: Trials, host: string): Promise<void> {
  const now = performance.now();
  for (const [each, at] of freeAt) if (at <= now) freeAt.delete(each);
  const at = freeAt.get(host) ?? now;
  freeAt.set(host, at + gapMs);
  if (at > now) await sleep(at - now);
}

const refuseTrial = (): never => {
  throw new Refusal(
    429,
    'rate_limited',
    `${maxTrials.each} trials of this organization, or ${maxTrials.all} of all, are under way; try again in a moment`,
    { headers: { 'retry-after': '2' } },
  );
};

/** The check of a prober with its judgement. A timeout that this process caused is no finding about the target. */
async function checkOnce(guard: Guard, target: Target, timeoutMs: number, userAgent: string): Promise<Observation> {
  const loop = watchLoop(systemClock);
  const started = systemClock.now();
  try {
    const { errorDetail, ...seen } =
      'url' in target ? await checkHttp(guard, { target, timeoutMs, userAgent }) : await checkTcp(guard, { target, timeoutMs });
    const isOurFault = timedOut(seen) && lostMsOf(systemClock.now() - started, timeoutMs, loop.lostSince(started)) > 0;
    if (isOurFault) throw overloaded();
    return { ...seen, ...(errorDetail === undefined ? {} : { errorDetail: withoutQueries(errorDetail) }) };
  } finally {
    loop.stop();
  }
}

const overloaded = () =>
  new Refusal(503, 'unavailable', 'this server was too busy to judge the check; try again in a moment', {
    headers: { 'retry-after': '2' },
  });
