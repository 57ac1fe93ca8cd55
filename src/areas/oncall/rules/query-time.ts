import { invalid } from '../../../kernel/errors.ts';

/** Parses a time in a query, limited to years that every calendar supports. */
export const parseQueryTime = (name: string, text: string): string => {
  const at = new Date(text);
  const year = at.getUTCFullYear();
  return year >= 2000 && year < 2100 ? at.toISOString() : invalid(`${name} must be a time between the years 2000 and 2100`);
};

const dayMs = 86_400_000;
const defaultDays = 28;

/** The window of a query: by default 28 days from now. */
export function parseWindow(query: { from?: string; to?: string }, now: string, maxDays: number): { from: string; to: string } {
  const from = query.from ? parseQueryTime('from', query.from) : now;
  const to = query.to ? parseQueryTime('to', query.to) : new Date(Date.parse(from) + defaultDays * dayMs).toISOString();
  if (to <= from) invalid('to must be after from');
  if (Date.parse(to) - Date.parse(from) > maxDays * dayMs) invalid(`to must be at most ${maxDays} days after from`);
  return { from, to };
}
