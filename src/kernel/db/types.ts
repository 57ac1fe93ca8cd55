import pg from 'pg';

const iso = (text: string) => {
  // '2026-11-15 01:32:38.12+00' → '2026-11-15T01:32:38.120Z': one format in SQL, rows and JSON; its text order is time order.
  const dot = text.indexOf('.');
  const fraction = dot < 0 ? '' : text.slice(dot + 1, text.indexOf('+', dot));
  return `${text.slice(0, 10)}T${text.slice(11, 19)}.${fraction.padEnd(3, '0').slice(0, 3)}Z`;
};

const integer = (text: string) => {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the integer ${text} does not fit a JavaScript number`);
  return value;
};

const parsers: Record<number, (text: string) => unknown> = { 20: integer, 1184: iso, 1082: (text) => text };
/** Integers as numbers, times as ISO text. Also for connections outside the pool that read rows. */
export const types = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') =>
    parsers[oid] ?? pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
};
