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
  /** Summed: of the passing checks, or of the failing ones when none passed. */
  ms: number;
}

/** Cell, checks, passing ones and milliseconds of each half hour, as the store writes them: `{{0,30,29,3000},{1,30,30,2900}}`. */
export function halfHoursOf(text: string | null): HalfHour[] {
  if (text === null) return [];
  const numbers = numbersIn(text);
  const found: HalfHour[] = [];
  for (let i = 0; i < numbers.length; i += 4) {
    const cell = numbers[i]!;
    if (cell < cells) found.push({ cell, checks: numbers[i + 1]!, passed: numbers[i + 2]!, ms: numbers[i + 3]! });
  }
  return found;
}

/** Whole numbers, whatever stands between them. Two hundred thousand of them make a summary: splitting the text took three times as long. */
function numbersIn(text: string): number[] {
  const numbers: number[] = [];
  let number = -1;
  for (let i = 0; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit >= 0 && digit <= 9) number = (number < 0 ? 0 : number * 10) + digit;
    else if (number >= 0) {
      numbers.push(number);
      number = -1;
    }
  }
  return numbers;
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
  const sums = Array.from({ length: cells / 2 }, () => ({ passed: 0, passedMs: 0, failed: 0, failedMs: 0 }));
  for (const { cell, checks, passed, ms } of halfHours) {
    const sum = sums[cell >> 1]!;
    if (passed > 0) {
      sum.passed += passed;
      sum.passedMs += ms;
    } else {
      sum.failed += checks;
      sum.failedMs += ms;
    }
  }
  return sums.map(({ passed, passedMs, failed, failedMs }) => {
    if (passed > 0) return Math.round(passedMs / passed);
    return failed > 0 ? Math.round(failedMs / failed) : null;
  });
}
