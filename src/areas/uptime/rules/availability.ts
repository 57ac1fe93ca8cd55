// Availability of a service. It is down while one of its monitors is down, and watched while one of them is up or down. Maintenance windows
// count for neither. All times are Unix milliseconds; intervals are half open and in order.

/** Availability looks no further back; transitions themselves are kept for good. */
export const historyDays = 400;

export type State = 'pending' | 'up' | 'down';
type Interval = readonly [from: number, to: number];

/** From `since` on, a monitor was in this state. In order of occurrence. */
export interface Change {
  since: number;
  to: State;
}

export interface History {
  /** Of each monitor. */
  monitors: readonly (readonly Change[])[];
  maintenance: readonly Interval[];
  now: number;
}

export interface Figures {
  watchedSeconds: number;
  downSeconds: number;
}

const dayMs = 86_400_000;

export function availability(history: History, days: number) {
  const { down, watched } = observed(history);
  const [watch, fall] = [makeCoverage(watched), makeCoverage(down)];
  const today = Math.floor(history.now / dayMs) * dayMs;
  const byDay: (Figures & { date: string })[] = [];
  const byMonth = new Map<string, { watched: number; down: number }>();
  for (let ago = historyDays - 1; ago >= 0; ago--) {
    const day = today - ago * dayMs;
    const sum = { watched: watch([day, day + dayMs]), down: fall([day, day + dayMs]) };
    if (sum.watched === 0) continue;
    const date = new Date(day).toISOString().slice(0, 10);
    if (ago < days) byDay.push({ date, ...figures(sum.watched, sum.down) });
    const month = byMonth.get(date.slice(0, 7)) ?? { watched: 0, down: 0 };
    byMonth.set(date.slice(0, 7), { watched: month.watched + sum.watched, down: month.down + sum.down });
  }
  return { days: byDay, months: [...byMonth].map(([month, sum]) => ({ month, ...figures(sum.watched, sum.down) })) };
}

/** Any counted time is at least one second, so that it shows. */
const seconds = (ms: number) => (ms > 0 ? Math.max(1, Math.round(ms / 1_000)) : 0);
const figures = (watched: number, down: number): Figures => ({ watchedSeconds: seconds(watched), downSeconds: seconds(down) });

/** When the service was down, and when it was watched. */
export function observed({ monitors, maintenance, now }: History): { down: Interval[]; watched: Interval[] } {
  const spells = monitors.flatMap((changes) => statePeriods(changes, now));
  const of = (...states: State[]) => union(spells.filter((s) => states.includes(s.state)).map((s): Interval => [s.from, s.to]));
  const work = union(maintenance);
  return { down: minus(of('down'), work), watched: minus(of('up', 'down'), work) };
}

/** A back-dated change shortens the state before it, but not beyond that state's own beginning. */
function statePeriods(changes: readonly Change[], now: number): { from: number; to: number; state: State }[] {
  const starts: number[] = [];
  for (const { since } of changes) starts.push(Math.min(now, Math.max(since, starts.at(-1) ?? Number.NEGATIVE_INFINITY)));
  return changes.map(({ to: state }, i) => ({ from: starts[i]!, to: starts[i + 1] ?? now, state }));
}

export function union(intervals: readonly Interval[]): Interval[] {
  const joined: [number, number][] = [];
  for (const [from, to] of [...intervals].sort((a, b) => a[0] - b[0])) {
    if (to <= from) continue;
    const last = joined.at(-1);
    if (last && from <= last[1]) last[1] = Math.max(last[1], to);
    else joined.push([from, to]);
  }
  return joined;
}

/** The parts of `all` outside of `holes`; both as `union` returns them. */
export function minus(all: readonly Interval[], holes: readonly Interval[]): Interval[] {
  const left: Interval[] = [];
  let h = 0;
  for (const [begin, to] of all) {
    let from = begin;
    while (h < holes.length && holes[h]![1] <= from) h++;
    for (let i = h; i < holes.length && holes[i]![0] < to; i++) {
      if (holes[i]![0] > from) left.push([from, holes[i]![0]]);
      from = Math.max(from, holes[i]![1]);
    }
    if (from < to) left.push([from, to]);
  }
  return left;
}

/** How much of a span is covered. Spans must be queried in order. */
function makeCoverage(intervals: readonly Interval[]) {
  let i = 0;
  return ([from, to]: Interval): number => {
    while (i < intervals.length && intervals[i]![1] <= from) i++;
    let sum = 0;
    for (let k = i; k < intervals.length && intervals[k]![0] < to; k++)
      sum += Math.min(to, intervals[k]![1]) - Math.max(from, intervals[k]![0]);
    return sum;
  };
}

/** The state of all live monitors together; undefined without any. */
export function stateOf(states: readonly State[]): State | undefined {
  if (!states.length) return undefined;
  return states.includes('down') ? 'down' : states.includes('up') ? 'up' : 'pending';
}
