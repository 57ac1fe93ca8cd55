import { age, ago, type Format, formatOf, isEmpty, isObject, isoTime, type Json, numberText, titleOf } from '../../sdk/values.ts';
import { printable } from '../printable.ts';
import type { Look, Style } from './look.ts';
import { judge, signOf } from './states.ts';

/** What stands in a table or a sheet. */
export interface Cell {
  text: string;
  style?: Style;
  /** There is no value; a dash stands for it. A value may be a dash too. */
  isEmpty?: boolean;
}

/** In a table: short. */
export function cellOf(value: unknown, name: string, as: Format | undefined, look: Look): Cell {
  if (isEmpty(value)) return { text: '-', style: 'dim', isEmpty: true };
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

export const oneLine = (text: string) => text.replaceAll(/[\n\t]/g, ' ');
