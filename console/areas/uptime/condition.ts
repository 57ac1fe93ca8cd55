import type { MonitorRow } from '../../data/uptime.ts';

// How a monitor stands, in one word; a disabled one is `paused`, whatever its state was. Pure.

export const conditions = ['down', 'pending', 'up', 'paused'] as const;
export type Condition = (typeof conditions)[number];

export const conditionOf = ({ enabled, state }: Pick<MonitorRow, 'enabled' | 'state'>): Condition => (enabled ? state : 'paused');

/** The worst first: down, the newest outage on top; then the least steady of the last day; paused ones last. */
export function byUrgency(a: MonitorRow, b: MonitorRow): number {
  const [mine, its] = [conditionOf(a), conditionOf(b)];
  if (mine !== its) return conditions.indexOf(mine) - conditions.indexOf(its);
  if (mine === 'down' && a.since !== b.since) return a.since < b.since ? 1 : -1;
  return unsteadiness(b.bar) - unsteadiness(a.bar) || collator.compare(a.name, b.name) || (a.id < b.id ? -1 : 1);
}

/** `localeCompare` makes such an object at each call. */
const collator = makeCollator();

function makeCollator(): { compare(a: string, b: string): number } {
  try {
    return new Intl.Collator(undefined, { numeric: true });
  } catch {
    // A locale that is none: the order of code units.
    return { compare: (a, b) => (a < b ? -1 : a > b ? 1 : 0) };
  }
}

/** An outage weighs more than any number of failing checks. */
function unsteadiness(bar: string): number {
  let sum = 0;
  for (const cell of bar) sum += cell === 'd' ? 100 : cell === 'p' ? 1 : 0;
  return sum;
}

export interface MonitorFilter {
  text: string;
  condition: Condition | undefined;
  /** An id, or `none`. */
  serviceId: string | undefined;
}

export const matches = (row: MonitorRow, { text, condition, serviceId }: MonitorFilter): boolean =>
  (!condition || conditionOf(row) === condition) &&
  (!serviceId || (row.serviceId ?? 'none') === serviceId) &&
  row.name.toLowerCase().includes(text.trim().toLowerCase());
