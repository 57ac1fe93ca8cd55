import { invalid } from '../../../kernel/errors.ts';

/** A time that a question is about, within a century that every calendar knows. */
export const parseQueryTime = (name: string, text: string): string => {
  const at = new Date(text);
  const year = at.getUTCFullYear();
  return year >= 2000 && year < 2100 ? at.toISOString() : invalid(`${name} must be a time between the years 2000 and 2100`);
};
