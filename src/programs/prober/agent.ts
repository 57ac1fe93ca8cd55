import type { Guard, TlsOptions } from '../../kernel/guard/index.ts';
import type { Logger } from '../../kernel/log.ts';
import { type Assignment, type AssignmentsResponse, bufferBytes, bufferHours, type SessionResponse } from '../../protocols/agent.ts';
import { makeChecker } from './checks/checker.ts';
import type { Observation } from './checks/observation.ts';
import type { Clock } from './clock.ts';
import { bootId, stampBy } from './delivery/boot.ts';
import { type Instance, readInstance, renewInstance, writeInstance } from './delivery/instance.ts';
import { type Link, ServerRefusal } from './delivery/link.ts';
import { makeOutbox, type Outbox } from './delivery/outbox.ts';
import { retryDelayMs } from './delivery/retry.ts';
import type { SavedState, StateStore } from './delivery/saved-state.ts';
import { openSpool } from './delivery/spool.ts';
import type { TimedBatch } from './delivery/spool-record.ts';
import { type Canaries, type Canary, watchCanaries } from './health/canaries.ts';
import { type LoopWatch, watchLoop } from './health/loop-watch.ts';
import { makeSelfFault, type SelfFault } from './health/self-fault.ts';
import { makeScheduler, type Scheduler } from './schedule/scheduler.ts';

// A prober: the process that makes the checks, on a server (as its child) or elsewhere (`quarterdeck probe`).
//
// Actors: the server assigns monitors by long poll and stores batches of results; the targets are checked; canaries are addresses by which
// the prober detects that it is cut off itself.
//
// Data flow: assignments go to the scheduler (schedule/scheduler.ts), which starts each check in its slot of the interval, limits the
// rate per host and port (schedule/host-rate.ts), and reports checks that it could not start as missed. Checks (checks/) return an
// observation. The outbox (delivery/outbox.ts) numbers observations in batches, sends one batch at a time, and retries until it is stored.
//
// States: without a session, checks run on the saved assignments, if there are any; with a session, assignments follow the server.
// While canaries fail or most monitors turn to error at once (health/), the prober is degraded, and the server does not count its failures.
//
// What survives a crash: batches in the spool (delivery/spool.ts), where they go once the server has not acknowledged one for 3 s; the
// instance id and batch numbers; and, for agents elsewhere, the assignments, sealed under a key from the token (delivery/saved-state.ts).
// Results that are only in memory, about the last second, are lost.

export interface AgentOptions {
  readonly link: Link;
  readonly guard: Guard;
  readonly clock: Clock;
  readonly log: Logger;
  readonly bufferDir: string;
  readonly canaries: readonly Canary[];
  readonly version: string;
  /** Where its assignments survive a restart. */
  readonly stateStore: StateStore;
  readonly tls?: TlsOptions;
  /** How late each check started. */
  readonly onStart?: (lateMs: number) => void;
}

export interface Agent {
  /** Waits up to `graceMs` for running checks, and delivers or spools their results. */
  stop(graceMs: number): Promise<void>;
}

/** The state of a running prober. */
interface AgentState extends AgentOptions {
  readonly outbox: Outbox;
  readonly watchedCanaries: Canaries;
  readonly selfFault: SelfFault;
  readonly loop: LoopWatch;
  readonly stopping: AbortController;
  /** Aborts the pending poll for assignments. */
  polling: AbortController;
  instance: Instance;
  session: SessionResponse | undefined;
  scheduler: Scheduler | undefined;
  /** The user agent that the server gave us for checks. */
  userAgent: string;
  /** Everything that is assigned. */
  readonly assigned: Map<string, Assignment>;
  /** When the assignments were last saved, by the monotonic clock, and whether they have changed since. */
  savedAt: number;
  isUnsaved: boolean;
  wasDegraded: boolean;
}

/** Runs a prober: polls for assignments, makes the checks and delivers the results, also while the server is away. */
export async function startAgent(options: AgentOptions): Promise<Agent> {
  const agent = await makeAgent(options);
  void runSessions(agent).catch((err) => options.log.error({ err }, 'the conversation with the server ended; start this prober again'));
  return { stop: (graceMs) => stopAgent(agent, graceMs) };
}

async function makeAgent(options: AgentOptions): Promise<AgentState> {
  const { link, clock, log, bufferDir } = options;
  const instance = await readInstance(bufferDir);
  const spool = await openSpool({
    dir: bufferDir,
    log,
    stamp: stampBy(clock, await bootId()),
    maxBytes: bufferBytes,
    maxAgeMs: maxResultAgeMs,
  });
  const known = await readSaved(options, instance);
  const agent: AgentState = {
    ...options,
    outbox: makeOutbox({
      clock,
      log,
      spool,
      after: known ? known.seq + numbersInADay : 0,
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
    scheduler: undefined,
    userAgent: known?.userAgent ?? 'Quarterdeck-uptime/1',
    assigned: new Map(),
    savedAt: Number.NEGATIVE_INFINITY,
    isUnsaved: false,
    wasDegraded: false,
  };
  if (known) resumeSaved(agent, known);
  return agent;
}

/**
 * More batches than a prober makes in a day. Their numbers may have been used since the state was saved, so numbering continues after them.
 */
const numbersInADay = 10_000_000;

async function readSaved({ stateStore, clock }: AgentOptions, { vantage }: Instance): Promise<SavedState | undefined> {
  const known = await stateStore.read(clock.wall());
  return known && known.vantage === vantage && known.assignments.length > 0 ? known : undefined;
}

/** Resumes the saved assignments until the server sends others. */
function resumeSaved(agent: AgentState, { vantage, assignments, savedAt }: SavedState): void {
  const { clock, log } = agent;
  for (const each of assignments) agent.assigned.set(each.id, each);
  agent.scheduler = schedulerFor(agent, vantage);
  agent.scheduler.assign(assignments, { removed: [], full: true });
  log.info({ vantage, monitors: assignments.length, ageMs: Math.round(clock.wall() - savedAt) }, 'checks go on with what was known');
}

function isDegraded(agent: AgentState): boolean {
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

/** Opens one session after the other until the prober stops. */
async function runSessions(agent: AgentState): Promise<void> {
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
      if (++failures === 1 || isRefusedToken(status)) logSessionFailure(agent, err, status);
      if (isRefusedToken(status)) await forgetSaved(agent);
      await pause(agent, retryDelayMs(failures, status));
    }
  }
}

async function openSession(agent: AgentState): Promise<void> {
  const { link, clock, log, version, outbox } = agent;
  const answer = await link.session(agent.instance.id, version, clock.wall());
  if (agent.instance.vantage !== '' && agent.instance.vantage !== answer.vantage) {
    await changeVantage(agent, answer.vantage);
    return openSession(agent);
  }
  if (agent.instance.vantage === '')
    agent.instance = await writeInstance(agent.bufferDir, { id: agent.instance.id, vantage: answer.vantage });
  agent.session = answer;
  agent.userAgent = answer.userAgent;
  agent.scheduler ??= schedulerFor(agent, answer.vantage);
  await outbox.begin(answer.seq);
  log.info({ vantage: answer.vantage, instance: agent.instance.id, skewMs: Math.round(clock.wall() - answer.now) }, 'connected');
}

/** Buffered results and the instance id belong to the old vantage, so both are given up. */
async function changeVantage(agent: AgentState, vantage: string): Promise<void> {
  agent.log.warn({ was: agent.instance.vantage, is: vantage }, 'this prober has another vantage now; undelivered results are given up');
  await agent.scheduler?.stop();
  agent.scheduler = undefined;
  agent.assigned.clear();
  await agent.stateStore.forget();
  await agent.outbox.forget();
  agent.instance = await renewInstance(agent.bufferDir, vantage);
}

function schedulerFor(agent: AgentState, vantage: string): Scheduler {
  const { guard, clock, loop, log, tls, onStart } = agent;
  const userAgent = () => agent.userAgent;
  const run = makeChecker({ guard, clock, loop, log, userAgent, ...(tls && { tls }) });
  const report = (assignment: Assignment, observation: Observation, at: number) => {
    agent.selfFault.record(assignment, observation);
    if (observation.outcome === 'error') agent.watchedCanaries.ask();
    agent.outbox.add({ monitor: assignment.id, epoch: assignment.epoch, ...observation }, at);
  };
  return makeScheduler({ clock, vantage, run, report, ...(onStart && { onStart }) });
}

/** Polls for assignments in a loop; ends by throwing. */
async function followAssignments(agent: AgentState): Promise<void> {
  const { link, clock, log, selfFault } = agent;
  let cursor: string | undefined;
  for (;;) {
    const asked = clock.now();
    const answer = await link.assignments(agent.instance.id, cursor, agent.polling.signal);
    if (answer.unknown > 0) log.warn({ monitors: answer.unknown }, 'some monitors are not understood by this version; upgrade this prober');
    const scheduler = agent.scheduler!;
    scheduler.assign(answer.assignments, answer);
    selfFault.keepOnly(scheduler.has);
    await saveState(agent, answer);
    cursor = answer.cursor;
    // A server that answers at once without news is not polled in a tight loop.
    const hadNews = answer.full || answer.assignments.length + answer.removed.length > 0;
    if (!hadNews && clock.now() - asked < 1_000) await pause(agent, 1_000);
  }
}

const saveIntervalMs = { changed: 10_000, unchanged: 3_600_000 };

/** Saved after a change, at most every 10 s, and once an hour, so that its age stays known. */
async function saveState(agent: AgentState, { full, assignments, removed }: AssignmentsResponse): Promise<void> {
  const { assigned, stateStore, clock, log } = agent;
  if (full) assigned.clear();
  for (const id of removed) assigned.delete(id);
  for (const each of assignments) assigned.set(each.id, each);
  agent.isUnsaved ||= full || assignments.length + removed.length > 0;
  if (clock.now() - agent.savedAt < (agent.isUnsaved ? saveIntervalMs.changed : saveIntervalMs.unchanged)) return;
  agent.savedAt = clock.now();
  agent.isUnsaved = false;
  const { vantage } = agent.instance;
  await stateStore
    .write({ vantage, userAgent: agent.userAgent, seq: agent.outbox.seq, savedAt: clock.wall(), assignments: [...assigned.values()] })
    .catch((err) => log.warn({ err }, 'what this prober knows cannot be written to its directory'));
}

/** Its token is refused: the saved assignments are deleted, and without a session the checks stop. */
async function forgetSaved(agent: AgentState): Promise<void> {
  await agent.stateStore.forget().catch((err) => agent.log.warn({ err }, 'what this prober knew cannot be deleted'));
  agent.isUnsaved = true;
  if (agent.session !== undefined) return;
  await agent.scheduler?.stop();
  agent.scheduler = undefined;
  agent.assigned.clear();
}

const isRefusedToken = (status: number) => status === 401 || status === 403;

function logSessionFailure({ log }: AgentState, err: unknown, status: number) {
  if (isRefusedToken(status))
    log.error({ err }, 'the server refuses this prober’s token; make another with `quarterdeck admin agents` there');
  else log.warn({ err }, 'the server is away; checks go on as they were');
}

/** Until the time is up or the prober stops. */
const pause = ({ clock, stopping: { signal } }: AgentState, ms: number) =>
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

async function stopAgent(agent: AgentState, graceMs: number): Promise<void> {
  const { clock, outbox } = agent;
  agent.stopping.abort();
  agent.polling.abort();
  let callOff = () => {};
  const late = new Promise<void>((resolve) => {
    callOff = clock.at(clock.now() + graceMs, resolve);
  });
  await Promise.race([agent.scheduler?.stop(), late]);
  callOff();
  await outbox.finish(Math.min(graceMs, 5_000));
  agent.watchedCanaries.stop();
  agent.loop.stop();
  agent.link.close();
}

const maxResultAgeMs = bufferHours * 3_600_000;

const onTheWire = ({ seq, degraded, results }: TimedBatch, { id }: Instance, clock: Clock) => {
  const sinceBoot = clock.sinceBoot();
  return {
    instance: id,
    seq,
    degraded,
    now: clock.wall(),
    results: results.map(({ at, ...result }) => ({ ...result, ageMs: Math.round(Math.min(maxResultAgeMs, Math.max(0, sinceBoot - at))) })),
  };
};
