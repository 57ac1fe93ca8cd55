// The last 24 hours of a monitor: a bar of cells, and a line of latencies. Pure; times are Unix milliseconds.

export const cellSeconds = 1_800;
export const cells = 48;
/** One point of the line covers two cells. */
export const pointSeconds = 2 * cellSeconds;

/** The half hour, counted from 1970, of the oldest cell. The newest cell is under way. */
export const firstCellAt = (now: number): number => Math.floor(now / (cellSeconds * 1_000)) - cells + 1;

type State = 'pending' | 'up' | 'down';

/** In order from the newest: from `since` on, the monitor was in the state `to`; before, in `from`. */
export interface Change {
  since: number;
  from: State;
  to: State;
}

export interface HalfHour {
  /** From 0, the oldest cell. */
  cell: number;
  checks: number;
  passed: number;
  passedMs: number;
  failedMs: number;
}

/** Five numbers for each half hour, as the store writes them. */
export function halfHoursOf(text: string | null, firstCell: number): HalfHour[] {
  if (text === null) return [];
  const numbers = text.split(' ');
  const found: HalfHour[] = [];
  for (let i = 0; i < numbers.length; i += 5) {
    const [at, checks, passed, passedMs, failedMs] = numbers.slice(i, i + 5).map(Number) as [number, number, number, number, number];
    const cell = at - firstCell;
    if (cell < cells) found.push({ cell, checks, passed, passedMs, failedMs });
  }
  return found;
}

export interface Day {
  /** The oldest cell, counted from 1970. */
  firstCell: number;
  now: number;
  state: State;
  since: number;
  /** Newest first. `isCut`: there are more than were read. */
  changes: readonly Change[];
  isCut: boolean;
}

/** `u` up, `p` a part of the checks failed, `d` down for some of the time, `-` no check. */
export function barOf(halfHours: readonly HalfHour[], day: Day): string {
  const bar = Array<string>(cells).fill('-');
  for (const { cell, checks, passed } of halfHours) bar[cell] = passed === checks ? 'u' : 'p';
  for (const [from, to] of outages(day)) {
    const first = Math.max(0, cellOf(from, day.firstCell));
    const last = Math.min(cells - 1, cellOf(Math.max(from, to - 1), day.firstCell));
    for (let cell = first; cell <= last; cell++) bar[cell] = 'd';
  }
  return bar.join('');
}

const cellOf = (at: number, firstCell: number) => Math.floor(at / (cellSeconds * 1_000)) - firstCell;

/** When the monitor was down, as far back as the changes tell. */
function outages({ firstCell, now, state, since, changes, isCut }: Day): [from: number, to: number][] {
  const start = firstCell * cellSeconds * 1_000;
  if (!changes.length) return state === 'down' ? [[since, now]] : [];
  const found: [number, number][] = [];
  let until = now;
  for (const change of changes) {
    if (change.to === 'down') found.push([change.since, until]);
    until = change.since;
  }
  // How long the state before the oldest change lasted is unknown where older changes were not read.
  if (changes.at(-1)!.from === 'down' && !isCut) found.push([start, until]);
  return found;
}

/** The mean latency of each hour in whole milliseconds: of passing checks, or of the failing ones when none passed. */
export function lineOf(halfHours: readonly HalfHour[]): (number | null)[] {
  const sums = Array.from({ length: cells / 2 }, () => ({ checks: 0, passed: 0, passedMs: 0, failedMs: 0 }));
  for (const { cell, checks, passed, passedMs, failedMs } of halfHours) {
    const sum = sums[cell >> 1]!;
    sum.checks += checks;
    sum.passed += passed;
    sum.passedMs += passedMs;
    sum.failedMs += failedMs;
  }
  return sums.map(({ checks, passed, passedMs, failedMs }) =>
    checks === 0 ? null : Math.round(passed > 0 ? passedMs / passed : failedMs / checks),
  );
}
