import type { Assignment, MissedKind } from '../../../protocols/agent.ts';
import type { Observation } from '../checks/observation.ts';
import type { Clock } from '../clock.ts';
import { HostRate, hostPortOf } from './host-rate.ts';
import { TimeQueue } from './queue.ts';
import { offsetOf, untilOffset } from './slot.ts';
import { confirmDelayMs, isUnconfirmed, nextStreak, type Streak } from './streak.ts';

/** Checks that run at once; the others are queued. */
const maxConcurrentChecks = 500;
/** Checks started in one tick, before the event loop handles the running ones. */
const maxStartsPerTick = 25;

export interface SchedulerOptions {
  readonly clock: Clock;
  readonly vantage: string;
  run(assignment: Assignment): Promise<Observation>;
  /** Called once per check, with the time it ended or, if it was missed, was due. */
  report(assignment: Assignment, observation: Observation, at: number): void;
  /** How late each check started. */
  onStart?(lateMs: number): void;
}

export interface Scheduler {
  readonly size: number;
  has(this: void, monitorId: string): boolean;
  /** New monitors run at once, and changes apply from now on. A running check of a removed or restarted monitor is not reported. */
  assign(assignments: readonly Assignment[], gone: { readonly removed: readonly string[]; readonly full: boolean }): void;
  /** Starts no more checks, and resolves when the running ones have ended. */
  stop(): Promise<void>;
}

interface ScheduledMonitor {
  assignment: Assignment;
  streak: Streak;
  /** Host and port. */
  hostPort: string;
  /** By the clock that only goes forward. */
  slotAt: number;
  /** Sooner than its slot: the first check, or a confirmation. */
  soonAt: number;
  isRunning: boolean;
  /** The running check was delayed by the host's rate limit. */
  isHeld: boolean;
  /** Queue entries with another version are stale. */
  version: number;
}

interface DueCheck {
  readonly at: number;
  readonly dueAt: number;
  readonly watched: ScheduledMonitor;
  readonly version: number;
  /** It was queued by the host's rate limit and may start now. */
  readonly hasTurn: boolean;
}

/** The next start at a host and port, while checks are queued for it. */
interface HostTurn {
  readonly at: number;
  readonly hostPort: string;
}

/** A check that waits for the host's rate limit, until `at`. */
interface QueuedCheck {
  readonly at: number;
  readonly due: DueCheck;
}

/** The state of a scheduler. */
interface SchedulerState extends SchedulerOptions {
  readonly all: Map<string, ScheduledMonitor>;
  readonly queue: TimeQueue<DueCheck | HostTurn>;
  readonly hosts: HostRate<QueuedCheck>;
  /** Due checks beyond the concurrency limit. */
  readonly waiting: DueCheck[];
  readonly running: Set<Promise<void>>;
  timer: { readonly at: number; readonly cancel: () => void } | undefined;
  isStopped: boolean;
}

export function makeScheduler(options: SchedulerOptions): Scheduler {
  const scheduler: SchedulerState = {
    ...options,
    all: new Map(),
    queue: new TimeQueue<DueCheck | HostTurn>(),
    hosts: new HostRate<QueuedCheck>(),
    waiting: [],
    running: new Set(),
    timer: undefined,
    isStopped: false,
  };
  return {
    get size() {
      return scheduler.all.size;
    },
    has: (monitorId) => scheduler.all.has(monitorId),
    assign: (assignments, gone) => assignAll(scheduler, assignments, gone),
    async stop() {
      scheduler.isStopped = true;
      scheduler.timer?.cancel();
      await Promise.allSettled(scheduler.running);
    },
  };
}

const intervalMs = ({ assignment }: ScheduledMonitor) => assignment.intervalSeconds * 1000;

// What is assigned

function assignAll(
  scheduler: SchedulerState,
  assignments: readonly Assignment[],
  { removed, full }: { removed: readonly string[]; full: boolean },
) {
  for (const id of removed) forget(scheduler, id);
  if (full) {
    const named = new Set(assignments.map(({ id }) => id));
    for (const id of scheduler.all.keys()) if (!named.has(id)) forget(scheduler, id);
  }
  const now = scheduler.clock.now();
  const isNew = ({ id, epoch }: Assignment) => scheduler.all.get(id)?.assignment.epoch !== epoch;
  const fresh = assignments.filter(isNew).length;
  let at = 0;
  for (const assignment of assignments) {
    if (isNew(assignment)) watchNew(scheduler, assignment, now + firstDelay(at++, fresh, assignment.intervalSeconds));
    else watchChanged(scheduler, scheduler.all.get(assignment.id)!, assignment);
  }
  arm(scheduler);
}

function forget(scheduler: SchedulerState, id: string) {
  const watched = scheduler.all.get(id);
  if (watched === undefined) return;
  watched.version = -1;
  scheduler.all.delete(id);
}

function watchNew(scheduler: SchedulerState, assignment: Assignment, soonAt: number) {
  forget(scheduler, assignment.id);
  const watched: ScheduledMonitor = {
    assignment,
    streak: assignment.streak,
    hostPort: hostPortOf(assignment),
    slotAt: 0,
    soonAt,
    isRunning: false,
    isHeld: false,
    version: 0,
  };
  watched.slotAt = firstSlot(scheduler, watched);
  scheduler.all.set(assignment.id, watched);
  schedule(scheduler, watched);
}

function watchChanged(scheduler: SchedulerState, known: ScheduledMonitor, assignment: Assignment) {
  const isOtherInterval = known.assignment.intervalSeconds !== assignment.intervalSeconds;
  known.assignment = assignment;
  known.hostPort = hostPortOf(assignment);
  if (!isOtherInterval) return;
  known.slotAt = firstSlot(scheduler, known);
  schedule(scheduler, known);
}

/** First checks run at once; more than ten are spread over a second, or at 500 a second. */
const firstDelay = (at: number, of: number, intervalSeconds: number): number =>
  of <= 10 ? 0 : (at / of) * Math.min(intervalSeconds * 500, Math.max(1000, of * 2));

// When a check is due. Slots follow the wall clock; waits use the monotonic clock, so a wall clock that jumps cannot delay a check.

/** Time until the monitor's next slot. */
function untilSlot({ clock, vantage }: SchedulerState, watched: ScheduledMonitor, at: number) {
  const { id, intervalSeconds } = watched.assignment;
  return untilOffset(offsetOf(id, vantage, intervalSeconds), intervalMs(watched), clock.wall() + at - clock.now());
}

function firstSlot(scheduler: SchedulerState, watched: ScheduledMonitor) {
  const now = scheduler.clock.now();
  const at = now + untilSlot(scheduler, watched, now);
  // Not right after the immediate first check, which may still be running.
  const tooSoon = Math.max(1000, watched.assignment.timeoutMs);
  return watched.soonAt !== Number.POSITIVE_INFINITY && at - watched.soonAt < tooSoon ? at + intervalMs(watched) : at;
}

/**
 * The slot one interval later. When the wall clock was set, the slot moves by at most a twentieth of the interval each time. So no check
 * comes noticeably early or late, and the vantages are staggered again after a few rounds.
 */
function slotAfter(scheduler: SchedulerState, watched: ScheduledMonitor, slotAt: number) {
  const interval = intervalMs(watched);
  let at = slotAt + interval;
  const ahead = untilSlot(scheduler, watched, at);
  const off = ahead > interval / 2 ? ahead - interval : ahead;
  at += Math.max(-interval / 20, Math.min(interval / 20, off));
  const now = scheduler.clock.now();
  return at > now ? at : at + Math.ceil((now - at) / interval) * interval;
}

function schedule({ queue }: SchedulerState, watched: ScheduledMonitor) {
  const dueAt = Math.min(watched.slotAt, watched.soonAt);
  watched.version++;
  queue.push({ at: dueAt, dueAt, watched, version: watched.version, hasTurn: false });
}

/** Moves on to the next slot after a check was started or missed. */
function moveOn(scheduler: SchedulerState, watched: ScheduledMonitor, dueAt: number) {
  // A check outside of its slot replaces the slot that would come while it is still running.
  const isOver = dueAt >= watched.slotAt || watched.slotAt <= scheduler.clock.now() + watched.assignment.timeoutMs;
  if (isOver) watched.slotAt = slotAfter(scheduler, watched, watched.slotAt);
  watched.soonAt = Number.POSITIVE_INFINITY;
}

// How it turns

function arm(scheduler: SchedulerState) {
  const { queue, clock, timer, isStopped } = scheduler;
  const next = queue.first()?.at;
  if (isStopped || next === undefined || (timer !== undefined && timer.at <= next)) return;
  timer?.cancel();
  scheduler.timer = { at: next, cancel: clock.at(next, () => tick(scheduler)) };
}

function tick(scheduler: SchedulerState) {
  const { queue, clock } = scheduler;
  scheduler.timer = undefined;
  for (let started = 0; started < maxStartsPerTick && !scheduler.isStopped; started++) {
    const next = queue.first();
    // A timer may be a moment early.
    if (next === undefined || next.at > clock.now() + 0.5) break;
    queue.shift();
    if ('hostPort' in next) giveTurn(scheduler, next.hostPort);
    else if (isCurrent(next)) begin(scheduler, next);
    else started--;
  }
  arm(scheduler);
}

/** False: the monitor is gone, or was rescheduled since. */
const isCurrent = ({ version, watched }: DueCheck) => version === watched.version;

function begin(scheduler: SchedulerState, due: DueCheck) {
  const { watched, dueAt } = due;
  const now = scheduler.clock.now();
  const latest = dueAt + intervalMs(watched);
  if (watched.isRunning) return miss(scheduler, watched, dueAt, watched.isHeld ? 'host_rate' : 'still_running');
  if (now > latest) return miss(scheduler, watched, dueAt, 'overloaded');
  if (scheduler.running.size >= maxConcurrentChecks) return void scheduler.waiting.push(due);
  if (!due.hasTurn && !scheduler.hosts.tryStart(watched.hostPort, now)) return waitForTurn(scheduler, due, latest);
  scheduler.onStart?.(now - dueAt);
  moveOn(scheduler, watched, dueAt);
  watched.isRunning = true;
  watched.isHeld = due.hasTurn;
  schedule(scheduler, watched);
  const check = runCheck(scheduler, watched).finally(() => {
    scheduler.running.delete(check);
    beginWaiting(scheduler);
  });
  scheduler.running.add(check);
}

function waitForTurn({ hosts, queue }: SchedulerState, due: DueCheck, latest: number) {
  const { hostPort, assignment } = due.watched;
  // Servers of the previous release do not send the tenant: all their assignments count as one tenant.
  if (hosts.enqueue(hostPort, assignment.tenant ?? '', { at: latest, due })) queue.push({ at: hosts.nextAt(hostPort)!, hostPort });
}

/** Starts the next queued check. Checks past their deadline and removed ones are skipped, a limited number per call. */
function giveTurn(scheduler: SchedulerState, hostPort: string) {
  const { hosts, queue, clock } = scheduler;
  const now = clock.now();
  for (let passed = 0; passed < maxStartsPerTick; passed++) {
    const next = hosts.dequeue(hostPort);
    if (next === undefined) break;
    const { due, at } = next;
    if (!isCurrent(due)) continue;
    if (now > at) {
      miss(scheduler, due.watched, due.dueAt, 'host_rate');
      continue;
    }
    hosts.start(hostPort, now);
    begin(scheduler, { ...due, hasTurn: true });
    break;
  }
  const nextAt = hosts.nextAt(hostPort);
  if (nextAt !== undefined) queue.push({ at: Math.max(now, nextAt), hostPort });
}

function beginWaiting(scheduler: SchedulerState) {
  const { waiting, running } = scheduler;
  while (!scheduler.isStopped && waiting.length > 0 && running.size < maxConcurrentChecks) {
    const next = waiting.shift()!;
    if (isCurrent(next)) begin(scheduler, next);
  }
  arm(scheduler);
}

function miss(scheduler: SchedulerState, watched: ScheduledMonitor, dueAt: number, errorKind: MissedKind) {
  scheduler.report(watched.assignment, { outcome: 'missed', errorKind }, dueAt);
  moveOn(scheduler, watched, dueAt);
  schedule(scheduler, watched);
}

async function runCheck(scheduler: SchedulerState, watched: ScheduledMonitor) {
  const { assignment } = watched;
  const observation = await scheduler.run(assignment);
  watched.isRunning = false;
  if (scheduler.all.get(assignment.id) !== watched) return;
  const now = scheduler.clock.now();
  scheduler.report(assignment, observation, now);
  confirmSoon(scheduler, watched, observation, now);
}

/** An unconfirmed verdict is checked again before the next slot. */
function confirmSoon(scheduler: SchedulerState, watched: ScheduledMonitor, observation: Observation, now: number) {
  const { confirmations } = watched.assignment;
  watched.streak = nextStreak(watched.streak, observation.outcome, confirmations);
  if (observation.outcome === 'missed' || !isUnconfirmed(watched.streak, confirmations)) return;
  watched.soonAt = now + confirmDelayMs(intervalMs(watched));
  if (watched.soonAt < watched.slotAt) schedule(scheduler, watched);
  else watched.soonAt = Number.POSITIVE_INFINITY;
}
