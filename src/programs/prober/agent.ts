import type { Guard, TlsOptions } from '../../kernel/guard/index.ts';
import type { Logger } from '../../kernel/log.ts';
import { type Assignment, bufferBytes, bufferHours, type SessionResponse } from '../../protocols/agent.ts';
import { makeChecker } from './checks/checker.ts';
import type { Observation } from './checks/observation.ts';
import type { Clock } from './clock.ts';
import { bootId, stampBy } from './delivery/boot.ts';
import { type Instance, readInstance, renewInstance, writeInstance } from './delivery/instance.ts';
import { type Link, ServerRefusal } from './delivery/link.ts';
import { makeOutbox, type Outbox } from './delivery/outbox.ts';
import { retryDelayMs } from './delivery/retry.ts';
import { openSpool } from './delivery/spool.ts';
import type { TimedBatch } from './delivery/spool-record.ts';
import { type Canaries, type Canary, watchCanaries } from './health/canaries.ts';
import { type LoopWatch, watchLoop } from './health/loop-watch.ts';
import { makeSelfFault, type SelfFault } from './health/self-fault.ts';
import { makeWheel, type Wheel } from './schedule/wheel.ts';

export interface AgentOptions {
  readonly link: Link;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly log: Logger;
  readonly bufferDir: string;
  readonly canaries: readonly Canary[];
  readonly version: string;
  readonly tls?: TlsOptions;
  /** How late each check started. */
  readonly onStart?: (lateMs: number) => void;
}

export interface Agent {
  /** Waits so long for checks under way, and delivers or keeps what they saw. */
  stop(patienceMs: number): Promise<void>;
}

/** Everything that a prober at work leans on and knows. */
interface Working extends AgentOptions {
  readonly outbox: Outbox;
  readonly watchedCanaries: Canaries;
  readonly selfFault: SelfFault;
  readonly loop: LoopWatch;
  readonly stopping: AbortController;
  /** Ends the question for assignments that is under way. */
  polling: AbortController;
  instance: Instance;
  session: SessionResponse | undefined;
  wheel: Wheel | undefined;
  wasDegraded: boolean;
}

/** A prober at work: asks what to check, checks it, and tells what it saw, whether or not anybody listens at the moment. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const agent = await makeAgent(options);
  void converse(agent);
  return { stop: (patienceMs) => stopAgent(agent, patienceMs) };
}

async function makeAgent(options: AgentOptions): Promise<Working> {
  const { link, clock, log, bufferDir } = options;
  const instance = await readInstance(bufferDir);
  const spool = await openSpool({
    dir: bufferDir,
    log,
    stamp: stampBy(clock, await bootId()),
    mostBytes: bufferBytes,
    mostAgeMs: oldestMs,
  });
  const agent: Working = {
    ...options,
    outbox: makeOutbox({
      clock,
      log,
      spool,
      isDegraded: () => isDegraded(agent),
      send: (batch) => link.results(onTheWire(batch, agent.instance, clock)),
      onUnknown: () => agent.polling.abort(),
    }),
    watchedCanaries: watchCanaries(clock, options.canaries),
    selfFault: makeSelfFault(clock),
    loop: watchLoop(clock),
    stopping: new AbortController(),
    polling: new AbortController(),
    instance,
    session: undefined,
    wheel: undefined,
    wasDegraded: false,
  };
  return agent;
}

function isDegraded(agent: Working): boolean {
  const { log } = agent;
  const isCutOff = agent.watchedCanaries.areSilent();
  const isNow = isCutOff || agent.selfFault.isSuspected();
  if (isNow !== agent.wasDegraded) {
    if (isNow) log.warn({ canaries: isCutOff }, 'this prober seems to be cut off; what it sees fail does not count until that is over');
    else log.info('this prober is well again');
  }
  agent.wasDegraded = isNow;
  return isNow;
}

/** One session after the other, until it is stopped. */
async function converse(agent: Working): Promise<void> {
  const { stopping } = agent;
  let failures = 0;
  while (!stopping.signal.aborted) {
    agent.polling = new AbortController();
    try {
      await openSession(agent);
      failures = 0;
      await followAssignments(agent);
    } catch (err) {
      if (stopping.signal.aborted) return;
      const status = err instanceof ServerRefusal ? err.status : 0;
      if (++failures === 1 || isRefusedToken(status)) complain(agent, err, status);
      await pause(agent, retryDelayMs(failures, status));
    }
  }
}

async function openSession(agent: Working): Promise<void> {
  const { link, clock, log, version, outbox } = agent;
  const answer = await link.session(agent.instance.id, version, clock.wall());
  if (agent.instance.vantage !== '' && agent.instance.vantage !== answer.vantage) {
    await changeVantage(agent, answer.vantage);
    return openSession(agent);
  }
  if (agent.instance.vantage === '')
    agent.instance = await writeInstance(agent.bufferDir, { id: agent.instance.id, vantage: answer.vantage });
  agent.session = answer;
  agent.wheel ??= wheelFor(agent, answer.vantage);
  await outbox.begin(answer.seq);
  log.info({ vantage: answer.vantage, instance: agent.instance.id, skewMs: Math.round(clock.wall() - answer.now) }, 'connected');
}

/** Under another vantage, what is in the buffer was seen from somewhere else, and this name belongs there. */
async function changeVantage(agent: Working, vantage: string): Promise<void> {
  agent.log.warn({ was: agent.instance.vantage, is: vantage }, 'this prober has another vantage now; undelivered results are given up');
  await agent.wheel?.stop();
  agent.wheel = undefined;
  await agent.outbox.forget();
  agent.instance = await renewInstance(agent.bufferDir, vantage);
}

function wheelFor(agent: Working, vantage: string): Wheel {
  const { guard, clock, loop, log, tls, onStart } = agent;
  const userAgent = () => agent.session?.userAgent ?? 'Quarterdeck-uptime/1';
  const run = makeChecker({ guard, clock, loop, log, userAgent, ...(tls && { tls }) });
  const report = (assignment: Assignment, observation: Observation, at: number) => {
    agent.selfFault.saw(assignment, observation);
    if (observation.outcome === 'error') agent.watchedCanaries.ask();
    agent.outbox.add({ monitor: assignment.id, epoch: assignment.epoch, ...observation }, at);
  };
  return makeWheel({ clock, vantage, run, report, ...(onStart && { onStart }) });
}

/** Asks what to check over and over; ends by throwing. */
async function followAssignments(agent: Working): Promise<void> {
  const { link, clock, log, selfFault } = agent;
  let cursor: string | undefined;
  for (;;) {
    const asked = clock.now();
    const answer = await link.assignments(agent.instance.id, cursor, agent.polling.signal);
    if (answer.unknown > 0) log.warn({ monitors: answer.unknown }, 'some monitors are not understood by this version; upgrade this prober');
    const wheel = agent.wheel!;
    wheel.assign(answer.assignments, answer);
    selfFault.keepOnly(wheel.has);
    cursor = answer.cursor;
    // A server that answers at once with nothing is not asked in a circle.
    const hadNews = answer.full || answer.assignments.length + answer.removed.length > 0;
    if (!hadNews && clock.now() - asked < 1_000) await pause(agent, 1_000);
  }
}

const isRefusedToken = (status: number) => status === 401 || status === 403;

function complain({ log }: Working, err: unknown, status: number) {
  if (isRefusedToken(status))
    log.error({ err }, 'the server refuses this prober’s token; make another with `quarterdeck admin agents` there');
  else log.warn({ err }, 'the server is away; checks go on as they were');
}

/** Until the time is up or the prober stops. */
const pause = ({ clock, stopping: { signal } }: Working, ms: number) =>
  new Promise<void>((resolve) => {
    const end = () => {
      cancel();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const cancel = clock.at(clock.now() + ms, end);
    signal.addEventListener('abort', end, { once: true });
    if (signal.aborted) end();
  });

async function stopAgent(agent: Working, patienceMs: number): Promise<void> {
  const { clock, outbox } = agent;
  agent.stopping.abort();
  agent.polling.abort();
  let callOff = () => {};
  const late = new Promise<void>((resolve) => {
    callOff = clock.at(clock.now() + patienceMs, resolve);
  });
  await Promise.race([agent.wheel?.stop(), late]);
  callOff();
  await outbox.finish(Math.min(patienceMs, 5_000));
  agent.watchedCanaries.stop();
  agent.loop.stop();
  agent.link.close();
}

const oldestMs = bufferHours * 3_600_000;

const onTheWire = ({ seq, degraded, results }: TimedBatch, { id }: Instance, clock: Clock) => {
  const sinceBoot = clock.sinceBoot();
  return {
    instance: id,
    seq,
    degraded,
    now: clock.wall(),
    results: results.map(({ at, ...result }) => ({ ...result, ageMs: Math.round(Math.min(oldestMs, Math.max(0, sinceBoot - at))) })),
  };
};
