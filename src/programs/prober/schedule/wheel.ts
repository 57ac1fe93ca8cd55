import type { Assignment } from '../../../protocols/agent.ts';
import type { Observation } from '../checks/observation.ts';
import type { Clock } from '../clock.ts';
import { HostRate, hostOf } from './host-rate.ts';
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
  host: string;
  /** By the clock that only goes forward. */
  slotAt: number;
  /** Sooner than its slot: the first check, or a confirmation. */
  soonAt: number;
  isRunning: boolean;
  /** What waits in the queue under another version is out of date. */
  version: number;
}

interface Due {
  readonly at: number;
  readonly dueAt: number;
  readonly watched: Watched;
  readonly version: number;
  /** Its turn with the host has been taken already. */
  readonly hasTurn: boolean;
}

export function makeWheel({ clock, vantage, run, report, onStart }: WheelOptions): Wheel {
  const all = new Map<string, Watched>();
  const queue = new TimeQueue<Due>();
  const hosts = new HostRate();
  const waiting: Due[] = [];
  const running = new Set<Promise<void>>();
  let isStopped = false;
  let timer: { at: number; cancel: () => void } | undefined;

  const intervalMs = ({ assignment }: Watched) => assignment.intervalSeconds * 1000;

  /** By the wall clock, if at all, only where the place is: how long until then is counted by the other one. */
  const untilSlot = (watched: Watched, at: number) => {
    const { id, intervalSeconds } = watched.assignment;
    return untilOffset(offsetOf(id, vantage, intervalSeconds), intervalMs(watched), clock.wall() + at - clock.now());
  };
  const firstSlot = (watched: Watched, now: number) => {
    const at = now + untilSlot(watched, now);
    // Not on the heels of the check that is made at once, which may still be under way.
    const tooSoon = Math.max(1000, watched.assignment.timeoutMs);
    return watched.soonAt !== Number.POSITIVE_INFINITY && at - watched.soonAt < tooSoon ? at + intervalMs(watched) : at;
  };
  /**
   * An interval later. A wall clock that was set moves the place, and the place is followed by a twentieth of the interval a time: for
   * the monitor no check comes early or late, and among vantages the old stagger is back after a few rounds.
   */
  const slotAfter = (watched: Watched, slotAt: number) => {
    const interval = intervalMs(watched);
    let at = slotAt + interval;
    const ahead = untilSlot(watched, at);
    const off = ahead > interval / 2 ? ahead - interval : ahead;
    at += Math.max(-interval / 20, Math.min(interval / 20, off));
    const now = clock.now();
    return at > now ? at : at + Math.ceil((now - at) / interval) * interval;
  };

  const arm = () => {
    const next = queue.first()?.at;
    if (isStopped || next === undefined || (timer !== undefined && timer.at <= next)) return;
    timer?.cancel();
    timer = { at: next, cancel: clock.at(next, tick) };
  };
  const schedule = (watched: Watched) => {
    const dueAt = Math.min(watched.slotAt, watched.soonAt);
    watched.version++;
    queue.push({ at: dueAt, dueAt, watched, version: watched.version, hasTurn: false });
  };

  function tick() {
    timer = undefined;
    for (let started = 0; started < mostInARow && !isStopped; started++) {
      const next = queue.first();
      // A timer may be a moment early.
      if (next === undefined || next.at > clock.now() + 0.5) break;
      queue.shift();
      if (next.version === next.watched.version) begin(next);
      else started--;
    }
    arm();
  }

  function miss(watched: Watched, dueAt: number) {
    report(watched.assignment, { outcome: 'missed' }, dueAt);
    passed(watched, dueAt);
    schedule(watched);
  }

  /** What was due has had its chance: on to the next slot. */
  function passed(watched: Watched, dueAt: number) {
    const now = clock.now();
    if (dueAt >= watched.slotAt) watched.slotAt = slotAfter(watched, watched.slotAt);
    // One that is made out of turn stands for the slot that would come while it is still under way.
    else if (watched.slotAt <= now + watched.assignment.timeoutMs) watched.slotAt = slotAfter(watched, watched.slotAt);
    watched.soonAt = Number.POSITIVE_INFINITY;
  }

  function begin(due: Due) {
    const { watched, dueAt } = due;
    const now = clock.now();
    const latest = dueAt + intervalMs(watched);
    if (watched.isRunning || now > latest) return miss(watched, dueAt);
    if (running.size >= mostAtOnce) return void waiting.push(due);
    if (!due.hasTurn) {
      const turn = hosts.turn(watched.host, now, latest);
      if (turn === null) return miss(watched, dueAt);
      if (turn > now) return queue.push({ ...due, at: turn, hasTurn: true });
    }
    onStart?.(now - dueAt);
    passed(watched, dueAt);
    watched.isRunning = true;
    schedule(watched);
    const check = watch(watched).finally(() => {
      running.delete(check);
      while (!isStopped && waiting.length > 0 && running.size < mostAtOnce) {
        const next = waiting.shift()!;
        if (next.version === next.watched.version) begin(next);
      }
      arm();
    });
    running.add(check);
  }

  async function watch(watched: Watched) {
    const { assignment } = watched;
    const observation = await run(assignment);
    watched.isRunning = false;
    if (all.get(assignment.id) !== watched) return;
    const now = clock.now();
    report(assignment, observation, now);
    const { confirmations } = watched.assignment;
    watched.streak = moved(watched.streak, observation.outcome, confirmations);
    if (observation.outcome === 'missed' || !isUnconfirmed(watched.streak, confirmations)) return;
    watched.soonAt = now + confirmDelayMs(intervalMs(watched));
    if (watched.soonAt < watched.slotAt) schedule(watched);
    else watched.soonAt = Number.POSITIVE_INFINITY;
  }

  function forget(id: string) {
    const watched = all.get(id);
    if (watched === undefined) return;
    watched.version = -1;
    all.delete(id);
  }

  /** Returns whether it was new. */
  function take(assignment: Assignment, soonAt: number) {
    const known = all.get(assignment.id);
    if (known !== undefined && known.assignment.epoch === assignment.epoch) {
      const isOtherInterval = known.assignment.intervalSeconds !== assignment.intervalSeconds;
      known.assignment = assignment;
      known.host = hostOf(assignment);
      if (!isOtherInterval) return;
      known.slotAt = firstSlot(known, clock.now());
      return schedule(known);
    }
    forget(assignment.id);
    const watched: Watched = {
      assignment,
      streak: assignment.streak,
      host: hostOf(assignment),
      slotAt: 0,
      soonAt,
      isRunning: false,
      version: 0,
    };
    watched.slotAt = firstSlot(watched, clock.now());
    all.set(assignment.id, watched);
    schedule(watched);
  }

  return {
    get size() {
      return all.size;
    },
    has: (monitorId) => all.has(monitorId),
    assign(assignments, { removed, full }) {
      for (const id of removed) forget(id);
      if (full) {
        const named = new Set(assignments.map(({ id }) => id));
        for (const id of all.keys()) if (!named.has(id)) forget(id);
      }
      const now = clock.now();
      const fresh = assignments.filter(({ id, epoch }) => all.get(id)?.assignment.epoch !== epoch).length;
      let at = 0;
      for (const assignment of assignments) {
        const isNew = all.get(assignment.id)?.assignment.epoch !== assignment.epoch;
        take(assignment, now + (isNew ? firstDelay(at++, fresh, assignment.intervalSeconds) : 0));
      }
      arm();
    },
    async stop() {
      isStopped = true;
      timer?.cancel();
      await Promise.allSettled(running);
    },
  };
}

/** At once; many over a second or, if that would be a flood, at 500 a second. */
const firstDelay = (at: number, of: number, intervalSeconds: number): number =>
  of <= 10 ? 0 : (at / of) * Math.min(intervalSeconds * 500, Math.max(1000, of * 2));
