import { invalid } from '../../../kernel/errors.ts';

/** Parses a time in a query, limited to years that every calendar supports. */
export const parseQueryTime = (name: string, text: string): string => {
  const at = new Date(text);
  const year = at.getUTCFullYear();
  return year >= 2000 && year < 2100 ? at.toISOString() : invalid(`${name} must be a time between the years 2000 and 2100`);
};
