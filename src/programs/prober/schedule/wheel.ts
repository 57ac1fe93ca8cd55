import type { Assignment, MissedKind } from '../../../protocols/agent.ts';
import type { Observation } from '../checks/observation.ts';
import type { Clock } from '../clock.ts';
import { HostRate, placeOf } from './host-rate.ts';
import { confirmDelayMs, isUnconfirmed, moved, type Streak } from './pace.ts';
import { TimeQueue } from './queue.ts';
import { offsetOf, untilOffset } from './slot.ts';

/** So many checks run at once; the others wait for their turn. */
const mostAtOnce = 500;
/** So many are started before the loop gets to hear what the running ones have to say. */
const mostInARow = 25;

export interface WheelOptions {
  readonly clock: Clock;
  readonly vantage: string;
  run(assignment: Assignment): Promise<Observation>;
  /** Once for each check that counts, with the time it ended or, if it was missed, was due. */
  report(assignment: Assignment, observation: Observation, at: number): void;
  /** How late each check started. */
  onStart?(lateMs: number): void;
}

export interface Wheel {
  readonly size: number;
  has(this: void, monitorId: string): boolean;
  /** New ones run at once; changes hold from now on; a check under way of what is gone or has started over is not reported. */
  assign(assignments: readonly Assignment[], gone: { readonly removed: readonly string[]; readonly full: boolean }): void;
  /** Starts nothing any more, and resolves when what is under way has ended. */
  stop(): Promise<void>;
}

interface Watched {
  assignment: Assignment;
  streak: Streak;
  /** Host and port. */
  place: string;
  /** By the clock that only goes forward. */
  slotAt: number;
  /** Sooner than its slot: the first check, or a confirmation. */
  soonAt: number;
  isRunning: boolean;
  /** The check under way had to wait for its turn with the host. */
  isHeld: boolean;
  /** What waits in the queue under another version is out of date. */
  version: number;
}

interface Due {
  readonly at: number;
  readonly dueAt: number;
  readonly watched: Watched;
  readonly version: number;
  /** It has waited for its turn with the host, and has it now. */
  readonly hasTurn: boolean;
}

/** The next turn of a host and port, while somebody waits for it. */
interface Turn {
  readonly at: number;
  readonly place: string;
}

/** Waits for a turn, until `at`. */
interface Waiting {
  readonly at: number;
  readonly due: Due;
}

/** Everything that a wheel knows while it turns. */
interface Turning extends WheelOptions {
  readonly all: Map<string, Watched>;
  readonly queue: TimeQueue<Due | Turn>;
  readonly hosts: HostRate<Waiting>;
  /** Due, but as many checks run as may. */
  readonly waiting: Due[];
  readonly running: Set<Promise<void>>;
  timer: { readonly at: number; readonly cancel: () => void } | undefined;
  isStopped: boolean;
}

export function makeWheel(options: WheelOptions): Wheel {
  const wheel: Turning = {
    ...options,
    all: new Map(),
    queue: new TimeQueue<Due | Turn>(),
    hosts: new HostRate<Waiting>(),
    waiting: [],
    running: new Set(),
    timer: undefined,
    isStopped: false,
  };
  return {
    get size() {
      return wheel.all.size;
    },
    has: (monitorId) => wheel.all.has(monitorId),
    assign: (assignments, gone) => assignAll(wheel, assignments, gone),
    async stop() {
      wheel.isStopped = true;
      wheel.timer?.cancel();
      await Promise.allSettled(wheel.running);
    },
  };
}

const intervalMs = ({ assignment }: Watched) => assignment.intervalSeconds * 1000;

// What is assigned

function assignAll(wheel: Turning, assignments: readonly Assignment[], { removed, full }: { removed: readonly string[]; full: boolean }) {
  for (const id of removed) forget(wheel, id);
  if (full) {
    const named = new Set(assignments.map(({ id }) => id));
    for (const id of wheel.all.keys()) if (!named.has(id)) forget(wheel, id);
  }
  const now = wheel.clock.now();
  const isNew = ({ id, epoch }: Assignment) => wheel.all.get(id)?.assignment.epoch !== epoch;
  const fresh = assignments.filter(isNew).length;
  let at = 0;
  for (const assignment of assignments) {
    if (isNew(assignment)) watchNew(wheel, assignment, now + firstDelay(at++, fresh, assignment.intervalSeconds));
    else watchChanged(wheel, wheel.all.get(assignment.id)!, assignment);
  }
  arm(wheel);
}

function forget(wheel: Turning, id: string) {
  const watched = wheel.all.get(id);
  if (watched === undefined) return;
  watched.version = -1;
  wheel.all.delete(id);
}

function watchNew(wheel: Turning, assignment: Assignment, soonAt: number) {
  forget(wheel, assignment.id);
  const watched: Watched = {
    assignment,
    streak: assignment.streak,
    place: placeOf(assignment),
    slotAt: 0,
    soonAt,
    isRunning: false,
    isHeld: false,
    version: 0,
  };
  watched.slotAt = firstSlot(wheel, watched);
  wheel.all.set(assignment.id, watched);
  schedule(wheel, watched);
}

function watchChanged(wheel: Turning, known: Watched, assignment: Assignment) {
  const isOtherInterval = known.assignment.intervalSeconds !== assignment.intervalSeconds;
  known.assignment = assignment;
  known.place = placeOf(assignment);
  if (!isOtherInterval) return;
  known.slotAt = firstSlot(wheel, known);
  schedule(wheel, known);
}

/** At once; many over a second or, if that would be a flood, at 500 a second. */
const firstDelay = (at: number, of: number, intervalSeconds: number): number =>
  of <= 10 ? 0 : (at / of) * Math.min(intervalSeconds * 500, Math.max(1000, of * 2));

// When it is due. Slots are chosen by the wall clock; waiting is measured with the clock that only goes forward, so that a wall clock
// that jumps cannot delay a check.

/** How long after this time the monitor's place in its interval comes round. */
function untilSlot({ clock, vantage }: Turning, watched: Watched, at: number) {
  const { id, intervalSeconds } = watched.assignment;
  return untilOffset(offsetOf(id, vantage, intervalSeconds), intervalMs(watched), clock.wall() + at - clock.now());
}

function firstSlot(wheel: Turning, watched: Watched) {
  const now = wheel.clock.now();
  const at = now + untilSlot(wheel, watched, now);
  // Not on the heels of the check that is made at once, which may still be under way.
  const tooSoon = Math.max(1000, watched.assignment.timeoutMs);
  return watched.soonAt !== Number.POSITIVE_INFINITY && at - watched.soonAt < tooSoon ? at + intervalMs(watched) : at;
}

/**
 * An interval later. A wall clock that was set moves the place, and the place is followed by a twentieth of the interval a time: for
 * the monitor no check comes early or late, and among vantages the old stagger is back after a few rounds.
 */
function slotAfter(wheel: Turning, watched: Watched, slotAt: number) {
  const interval = intervalMs(watched);
  let at = slotAt + interval;
  const ahead = untilSlot(wheel, watched, at);
  const off = ahead > interval / 2 ? ahead - interval : ahead;
  at += Math.max(-interval / 20, Math.min(interval / 20, off));
  const now = wheel.clock.now();
  return at > now ? at : at + Math.ceil((now - at) / interval) * interval;
}

function schedule({ queue }: Turning, watched: Watched) {
  const dueAt = Math.min(watched.slotAt, watched.soonAt);
  watched.version++;
  queue.push({ at: dueAt, dueAt, watched, version: watched.version, hasTurn: false });
}

/** What was due has had its chance: on to the next slot. */
function moveOn(wheel: Turning, watched: Watched, dueAt: number) {
  // A check that is made out of turn stands for the slot that would come while it is still under way.
  const isOver = dueAt >= watched.slotAt || watched.slotAt <= wheel.clock.now() + watched.assignment.timeoutMs;
  if (isOver) watched.slotAt = slotAfter(wheel, watched, watched.slotAt);
  watched.soonAt = Number.POSITIVE_INFINITY;
}

// How it turns

function arm(wheel: Turning) {
  const { queue, clock, timer, isStopped } = wheel;
  const next = queue.first()?.at;
  if (isStopped || next === undefined || (timer !== undefined && timer.at <= next)) return;
  timer?.cancel();
  wheel.timer = { at: next, cancel: clock.at(next, () => tick(wheel)) };
}

function tick(wheel: Turning) {
  const { queue, clock } = wheel;
  wheel.timer = undefined;
  for (let started = 0; started < mostInARow && !wheel.isStopped; started++) {
    const next = queue.first();
    // A timer may be a moment early.
    if (next === undefined || next.at > clock.now() + 0.5) break;
    queue.shift();
    if ('place' in next) giveTurn(wheel, next.place);
    else if (isCurrent(next)) begin(wheel, next);
    else started--;
  }
  arm(wheel);
}

/** False: what it was queued for is gone, or was scheduled anew since. */
const isCurrent = ({ version, watched }: Due) => version === watched.version;

function begin(wheel: Turning, due: Due) {
  const { watched, dueAt } = due;
  const now = wheel.clock.now();
  const latest = dueAt + intervalMs(watched);
  if (watched.isRunning) return miss(wheel, watched, dueAt, watched.isHeld ? 'host_rate' : 'still_running');
  if (now > latest) return miss(wheel, watched, dueAt, 'overloaded');
  if (wheel.running.size >= mostAtOnce) return void wheel.waiting.push(due);
  if (!due.hasTurn && !wheel.hosts.take(watched.place, now)) return waitForTurn(wheel, due, latest);
  wheel.onStart?.(now - dueAt);
  moveOn(wheel, watched, dueAt);
  watched.isRunning = true;
  watched.isHeld = due.hasTurn;
  schedule(wheel, watched);
  const check = runCheck(wheel, watched).finally(() => {
    wheel.running.delete(check);
    beginWaiting(wheel);
  });
  wheel.running.add(check);
}

function waitForTurn({ hosts, queue }: Turning, due: Due, latest: number) {
  const { place, assignment } = due.watched;
  // Servers of the release before do not say whose it is: all that they assign take turns as one.
  if (hosts.wait(place, assignment.tenant ?? '', { at: latest, due })) queue.push({ at: hosts.nextAt(place)!, place });
}

/** To the next who waits for it. Those who have waited for too long, or are gone, take no turn; some of them at a time. */
function giveTurn(wheel: Turning, place: string) {
  const { hosts, queue, clock } = wheel;
  const now = clock.now();
  for (let passed = 0; passed < mostInARow; passed++) {
    const next = hosts.next(place);
    if (next === undefined) break;
    const { due, at } = next;
    if (!isCurrent(due)) continue;
    if (now > at) {
      miss(wheel, due.watched, due.dueAt, 'host_rate');
      continue;
    }
    hosts.start(place, now);
    begin(wheel, { ...due, hasTurn: true });
    break;
  }
  const nextAt = hosts.nextAt(place);
  if (nextAt !== undefined) queue.push({ at: Math.max(now, nextAt), place });
}

function beginWaiting(wheel: Turning) {
  const { waiting, running } = wheel;
  while (!wheel.isStopped && waiting.length > 0 && running.size < mostAtOnce) {
    const next = waiting.shift()!;
    if (isCurrent(next)) begin(wheel, next);
  }
  arm(wheel);
}

function miss(wheel: Turning, watched: Watched, dueAt: number, errorKind: MissedKind) {
  wheel.report(watched.assignment, { outcome: 'missed', errorKind }, dueAt);
  moveOn(wheel, watched, dueAt);
  schedule(wheel, watched);
}

async function runCheck(wheel: Turning, watched: Watched) {
  const { assignment } = watched;
  const observation = await wheel.run(assignment);
  watched.isRunning = false;
  if (wheel.all.get(assignment.id) !== watched) return;
  const now = wheel.clock.now();
  wheel.report(assignment, observation, now);
  confirmSoon(wheel, watched, observation, now);
}

/** A verdict in doubt is looked at again before its slot comes. */
function confirmSoon(wheel: Turning, watched: Watched, observation: Observation, now: number) {
  const { confirmations } = watched.assignment;
  watched.streak = moved(watched.streak, observation.outcome, confirmations);
  if (observation.outcome === 'missed' || !isUnconfirmed(watched.streak, confirmations)) return;
  watched.soonAt = now + confirmDelayMs(intervalMs(watched));
  if (watched.soonAt < watched.slotAt) schedule(wheel, watched);
  else watched.soonAt = Number.POSITIVE_INFINITY;
}
