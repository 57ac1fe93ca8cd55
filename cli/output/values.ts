import type { Column } from '../../sdk/commands.ts';
import { printable } from '../printable.ts';
import type { Look, Style } from './look.ts';
import { judge, signOf } from './states.ts';

export type Json = Record<string, unknown>;
export type Format = NonNullable<Column['as']>;

/** What stands in a table or a sheet. */
export interface Cell {
  text: string;
  style?: Style;
}

export const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
export const isEmpty = (value: unknown) =>
  value === undefined || value === null || value === '' || (typeof value === 'object' && Object.keys(value).length === 0);

/** A field by its path; own fields only, so that no name of the prototype is one. */
export const fieldAt = (from: unknown, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>(
      (value, key) => (value !== null && typeof value === 'object' && Object.hasOwn(value, key) ? (value as Json)[key] : undefined),
      from,
    );

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/;

/** What a field's name and value tell about how it is written. */
export function formatOf(name: string, value: unknown): Format | undefined {
  const last = name.split('.').at(-1)!;
  if (typeof value === 'string' && isoTime.test(value)) return 'age';
  if (typeof value === 'number') {
    if (/Bytes$|^bytes[A-Z]/.test(last)) return 'bytes';
    if (/Seconds$|^expiresIn$|^expires_in$|^ttl$/.test(last)) return 'duration';
    if (/Pct$/.test(last)) return 'percent';
  }
  if (typeof value === 'string') {
    if (/^(state|phase|status|outcome)$|State$/.test(last)) return 'state';
    if (/^(description|message|title|subject|detail|sentence|warning|body|reason|error)$|(Error|Reason|Detail)$/.test(last)) return 'text';
  }
  return undefined;
}

/** In a table: short. */
export function cellOf(value: unknown, name: string, as: Format | undefined, look: Look): Cell {
  if (isEmpty(value)) return { text: '-', style: 'dim' };
  const format = as ?? formatOf(name, value);
  if (format === 'state' && (typeof value === 'string' || typeof value === 'boolean')) return stateCell(value, look);
  if (format === 'age' && isMoment(value)) return { text: age(Date.parse(value), look.now) };
  if (format === 'time' && isMoment(value)) return { text: moment(value) };
  if (format === 'count') return { text: String(Array.isArray(value) ? value.length : value) };
  return { text: oneLine(plain(value, name, format)) };
}

/** In a sheet: whole. */
export function sheetCell(value: unknown, name: string, look: Look): Cell {
  const format = formatOf(name, value);
  if (format === 'state') return stateCell(value as string, look);
  if (format === 'age') return { text: `${moment(value as string)} (${ago(Date.parse(value as string), look.now)})` };
  return { text: plain(value, name, format) };
}

/** A pipe gets the bare word, for programs that cut the line at its spaces. */
function stateCell(value: string | boolean, look: Look): Cell {
  const word = typeof value === 'boolean' ? (value ? 'yes' : 'no') : oneLine(printable(value));
  const judged = judge(word);
  return look.width === undefined
    ? { text: word }
    : { text: `${signOf(judged, look)} ${word}`, ...(judged ? { style: judged.style } : {}) };
}

const isMoment = (value: unknown): value is string => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const moment = (value: string) =>
  oneLine(printable(value))
    .replace('T', ' ')
    .replace(/\.\d+Z$/, 'Z');

function plain(value: unknown, name: string, format: Format | undefined): string {
  if (isEmpty(value)) return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return numberText(value, name, format);
  if (typeof value === 'string') return isoTime.test(value) ? moment(value) : printable(value);
  if (Array.isArray(value)) {
    const texts = value.map((item) => plain(isObject(item) ? titleOf(item) : item, name, format));
    return texts.join(texts.some((text) => text.includes(' ')) ? '; ' : ', ');
  }
  return Object.entries(value as Json)
    .filter(([, inner]) => !isEmpty(inner))
    .map(([key, inner]) => `${oneLine(printable(key))}=${plain(inner, key, formatOf(key, inner))}`)
    .join(' ');
}

/** An object inside a cell, by what people call it. */
const titleOf = (item: Json): unknown => {
  const key = ['label', 'name', 'title', 'sentence', 'resourceLabel', 'role', 'channel', 'node', 'slug'].find((k) => !isEmpty(item[k]));
  return key ? item[key] : Object.values(item)[0];
};

function numberText(value: number, name: string, format: Format | undefined): string {
  if (format === 'bytes') return bytes(value);
  if (format === 'duration') return duration(value);
  if (format === 'percent') return `${Number(value.toFixed(3))}%`;
  if (/Ms$/.test(name)) return value % 1000 === 0 && value > 0 ? duration(value / 1000) : `${value} ms`;
  if (/GiB$/.test(name)) return `${value} GiB`;
  if (/Days$/.test(name)) return `${value}d`;
  return String(value);
}

export const oneLine = (text: string) => text.replaceAll(/[\n\t]/g, ' ');

const units: [number, string][] = [
  [365 * 86_400, 'y'],
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
];

/** One unit, as much as a glance takes: `45s`, `3h`, `2d`, `in 5m`. */
export function age(at: number, now: number): string {
  const seconds = Math.floor(Math.abs(now - at) / 1000);
  if (seconds === 0) return 'now';
  // Two of a unit at least, so that nothing between one and two days is told as one.
  const [size, letter] = units.find(([unit]) => seconds >= (unit > 60 ? unit * 2 : unit))!;
  const text = `${Math.floor(seconds / size)}${letter}`;
  return at > now ? `in ${text}` : text;
}

const ago = (at: number, now: number) => {
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
