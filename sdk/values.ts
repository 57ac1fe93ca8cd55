import type { Column } from './command-table.ts';

// How values of the API are written for people, on a terminal and in a browser.

export type Json = Record<string, unknown>;
export type Format = NonNullable<Column['as']>;

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** A field by its path; own fields only, so that no name of the prototype is one. */
export const fieldAt = (from: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, key) => (value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? (value as Json)[key] : undefined),
      from,
    );

export const isoTime: RegExp = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/** What a field's name and value tell about how it is written. */
export function formatOf(name: string, value: unknown): Format | undefined {
  const last = name.split('.').at(-1)!;
  if (typeof value === 'string' && isoTime.test(value)) return 'age';
  if (typeof value === 'number') {
    if (/Bytes(?:P\d\d)?$|^bytes[A-Z]/.test(last)) return 'bytes';
    if (/Seconds$|^expiresIn$|^expires_in$|^ttl$/.test(last)) return 'duration';
    if (/Pct$/.test(last)) return 'percent';
  }
  if (typeof value === 'string') {
    if (/^(state|phase|status|outcome)$|State$/.test(last)) return 'state';
    if (/^(description|message|title|subject|detail|sentence|warning|body|reason|error|limitations)$|(Error|Reason|Detail)$/.test(last))
      return 'text';
  }
  return undefined;
}

/** An object inside a cell, by what people call it. */
export const titleOf = (item: Json): unknown => {
  const key = ['label', 'name', 'title', 'sentence', 'resourceLabel', 'role', 'channel', 'node', 'slug'].find((k) => !isEmpty(item[k]));
  return key ? item[key] : Object.values(item)[0];
};

export function numberText(value: number, name: string, format: Format | undefined): string {
  if (format === 'bytes') return bytes(value);
  if (format === 'duration') return duration(value);
  if (format === 'percent') return `${Number(value.toFixed(3))}%`;
  if (/Ms$/.test(name)) return value % 1000 === 0 && value > 0 ? duration(value / 1000) : `${value} ms`;
  if (/GiB$/.test(name)) return `${value} GiB`;
  if (/Days$/.test(name)) return `${value}d`;
  return String(value);
}

const units: [number, string][] = [
  [365 * 86_400, 'y'],
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** One unit, as much as a glance takes: `45s`, `3h`, `2d`, `in 5m`. What is 5 minutes away is not told as 4 because the answer took a moment. */
export function age(at: number, now: number): string {
  const exact = Math.abs(now - at) / 1000;
  const seconds = at > now && exact >= 1 ? Math.round(exact) : Math.floor(exact);
  if (seconds === 0) return 'now';
  // Two of a unit at least, so that nothing between one and two days is told as one.
  const [size, letter] = units.find(([unit]) => seconds >= (unit > 60 ? unit * 2 : unit))!;
  const text = `${Math.floor(seconds / size)}${letter}`;
  return at > now ? `in ${text}` : text;
}

export const ago = (at: number, now: number): string => {
  const text = age(at, now);
  return text === 'now' || text.startsWith('in ') ? text : `${text} ago`;
};

/** Its two largest units: `15m`, `1h30m`, `1d`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return String(seconds);
  const parts: string[] = [];
  let left = Math.round(seconds);
  for (const [size, letter] of units.slice(1)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count) parts.push(`${count}${letter}`);
    else if (parts.length) break;
    if (parts.length === 2) break;
  }
  return parts.join('') || '0s';
}

export function bytes(count: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let value = count;
  let unit = 0;
  while (value >= 1024 && unit < names.length - 1) {
    value /= 1024;
    unit++;
  }
  // What rounds to 1024 is one of the next unit.
  if (Number(value.toFixed(value < 10 ? 1 : 0)) >= 1024 && unit < names.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number(value.toFixed(value < 10 ? 1 : 0))} ${names[unit]}`;
}
