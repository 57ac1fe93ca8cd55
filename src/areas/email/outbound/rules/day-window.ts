import { invalid } from '../../../../kernel/errors.ts';

const dayMs = 86_400_000;
const defaultDays = 30;

const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

/** The days of UTC from one time to another, both included; by default the last 30. */
export function parseDays(query: { from?: string; to?: string }, now: string, maxDays: number): { from: string; to: string } {
  const to = query.to === undefined ? Date.parse(now) : parseTime('to', query.to);
  const from = query.from === undefined ? to - (defaultDays - 1) * dayMs : parseTime('from', query.from);
  const window = { from: dayOf(from), to: dayOf(to) };
  if (window.to < window.from) invalid('to must not be before from');
  if (Date.parse(window.to) - Date.parse(window.from) >= maxDays * dayMs) invalid(`from and to must be at most ${maxDays} days apart`);
  return window;
}

function parseTime(name: string, text: string): number {
  const at = Date.parse(text);
  const year = new Date(at).getUTCFullYear();
  return year >= 2000 && year < 2100 ? at : invalid(`${name} must be a time between the years 2000 and 2100`);
}
