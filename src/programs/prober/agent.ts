import type { Guard, TlsOptions } from '../../kernel/guard/index.ts';
import type { Logger } from '../../kernel/log.ts';
import { type Assignment, bufferBytes, bufferHours, type SessionResponse } from '../../protocols/agent.ts';
import { makeChecker } from './checks/checker.ts';
import type { Observation } from './checks/observation.ts';
import type { Clock } from './clock.ts';
import { bootId, stampBy } from './delivery/boot.ts';
import { type Instance, readInstance, renewInstance, writeInstance } from './delivery/instance.ts';
import { type Link, ServerRefusal } from './delivery/link.ts';
import { makeOutbox } from './delivery/outbox.ts';
import { retryDelayMs } from './delivery/retry.ts';
import { openSpool } from './delivery/spool.ts';
import type { TimedBatch } from './delivery/spool-record.ts';
import { type Canary, watchCanaries } from './health/canaries.ts';
import { watchLoop } from './health/loop-watch.ts';
import { makeSelfFault } from './health/self-fault.ts';
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

/** A prober at work: asks what to check, checks it, and tells what it saw, whether or not anybody listens at the moment. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const { link, guard, clock, log, bufferDir, version, tls, onStart } = options;
  let instance = await readInstance(bufferDir);
  const spool = await openSpool({
    dir: bufferDir,
    log,
    stamp: stampBy(clock, await bootId()),
    mostBytes: bufferBytes,
    mostAgeMs: bufferHours * 3_600_000,
  });
  const canaries = watchCanaries(clock, options.canaries);
  const selfFault = makeSelfFault(clock);
  const loop = watchLoop(clock);
  let session: SessionResponse | undefined;
  let wheel: Wheel | undefined;
  let wasDegraded = false;
  const stopping = new AbortController();
  let polling = new AbortController();

  const isDegraded = () => {
    const isCutOff = canaries.areSilent();
    const isNow = isCutOff || selfFault.isSuspected();
    if (isNow !== wasDegraded) {
      if (isNow) log.warn({ canaries: isCutOff }, 'this prober seems to be cut off; what it sees fail does not count until that is over');
      else log.info('this prober is well again');
    }
    wasDegraded = isNow;
    return isNow;
  };
  const outbox = makeOutbox({
    clock,
    log,
    spool,
    isDegraded,
    send: (batch) => link.results(onTheWire(batch, instance, clock)),
    onUnknown: () => polling.abort(),
  });

  const run = makeChecker({ guard, clock, loop, log, userAgent: () => session?.userAgent ?? 'Quarterdeck-uptime/1', ...(tls && { tls }) });
  const report = (assignment: Assignment, observation: Observation, at: number) => {
    selfFault.saw(assignment, observation);
    if (observation.outcome === 'error') canaries.ask();
    outbox.add({ monitor: assignment.id, epoch: assignment.epoch, ...observation }, at);
  };

  /** Under another vantage, what is in the buffer was seen from somewhere else, and this name belongs there. */
  async function open(): Promise<void> {
    const answer = await link.session(instance.id, version, clock.wall());
    if (instance.vantage !== '' && instance.vantage !== answer.vantage) {
      log.warn({ was: instance.vantage, is: answer.vantage }, 'this prober has another vantage now; undelivered results are given up');
      await wheel?.stop();
      wheel = undefined;
      await outbox.forget();
      instance = await renewInstance(bufferDir, answer.vantage);
      return open();
    }
    if (instance.vantage === '') instance = await writeInstance(bufferDir, { id: instance.id, vantage: answer.vantage });
    session = answer;
    wheel ??= makeWheel({ clock, vantage: answer.vantage, run, report, ...(onStart && { onStart }) });
    await outbox.begin(answer.seq);
    log.info({ vantage: answer.vantage, instance: instance.id, skewMs: Math.round(clock.wall() - answer.now) }, 'connected');
  }

  async function listen(): Promise<void> {
    let cursor: string | undefined;
    for (;;) {
      const asked = clock.now();
      const answer = await link.assignments(instance.id, cursor, polling.signal);
      if (answer.unknown > 0)
        log.warn({ monitors: answer.unknown }, 'some monitors are not understood by this version; upgrade this prober');
      wheel!.assign(answer.assignments, answer);
      selfFault.keepOnly(wheel!.has);
      cursor = answer.cursor;
      // A server that answers at once with nothing is not asked in a circle.
      const hadNews = answer.full || answer.assignments.length + answer.removed.length > 0;
      if (!hadNews && clock.now() - asked < 1_000) await pause(1_000);
    }
  }

  const pause = (ms: number) =>
    new Promise<void>((resolve) => {
      const end = () => {
        cancel();
        stopping.signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = clock.at(clock.now() + ms, end);
      stopping.signal.addEventListener('abort', end, { once: true });
      if (stopping.signal.aborted) end();
    });

  async function converse(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      polling = new AbortController();
      try {
        await open();
        failures = 0;
        await listen();
      } catch (err) {
        if (stopping.signal.aborted) return;
        const status = err instanceof ServerRefusal ? err.status : 0;
        if (++failures === 1 || status === 401 || status === 403) told(err, status);
        await pause(retryDelayMs(failures, status));
      }
    }
  }
  const told = (err: unknown, status: number) => {
    if (status === 401 || status === 403)
      log.error({ err }, 'the server refuses this prober’s token; make another with `quarterdeck admin agents` there');
    else log.warn({ err }, 'the server is away; checks go on as they were');
  };

  void converse();
  return {
    async stop(patienceMs) {
      stopping.abort();
      polling.abort();
      let call = () => {};
      const late = new Promise<void>((resolve) => {
        call = clock.at(clock.now() + patienceMs, resolve);
      });
      await Promise.race([wheel?.stop(), late]);
      call();
      await outbox.finish(Math.min(patienceMs, 5_000));
      canaries.stop();
      loop.stop();
      link.close();
    },
  };
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
