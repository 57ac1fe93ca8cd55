import { styleText } from 'node:util';
import { usage } from './exit.ts';
import { printable } from './printable.ts';
import { table } from './table.ts';

type Json = Record<string, unknown>;
type Columns = Record<string, string[]>;

/** An answer for people: its fields below each other, its lists as tables. `width`: of the terminal, if it is one. */
export function pretty(answer: Json, columns: Columns, width: number | undefined): string {
  const fields = flat(answer).filter(([name]) => !(name in columns) && name !== 'cursor');
  const longest = Math.max(...fields.map(([name]) => words(name).length));
  const lines = fields.map(
    ([name, value]) => `${words(name).padEnd(longest)}  ${cell(value).replaceAll('\n', `\n${' '.repeat(longest + 2)}`)}\n`,
  );
  const lists = Object.entries(columns).filter(([name]) => Array.isArray(answer[name]) && (answer[name] as Json[]).length);
  const isAlone = !fields.length && Object.keys(columns).length === 1;
  const tables = lists.map(([name, keys]) => {
    const rows = (answer[name] as Json[]).map((row) => keys.map((key) => cell(row[key]).replaceAll('\n', ' ')));
    return `${isAlone ? '' : `${bold(words(name))}\n`}${table(
      keys.map((k) => words(k).toUpperCase()),
      rows,
      { width, header: bold },
    )}`;
  });
  return [lines.join(''), ...tables].filter(Boolean).join('\n');
}

/** The lists that came back empty, to say so. */
export const emptyLists = (answer: Json, columns: Columns) =>
  Object.keys(columns)
    .filter((name) => Array.isArray(answer[name]) && !(answer[name] as unknown[]).length)
    .map(words);

/** One field, bare, for scripts: of the answer, or of everything in its list. */
export function only(answer: Json, columns: Columns, path: string): string {
  const get = (from: unknown) => path.split('.').reduce((value, key) => (value as Json | undefined)?.[key], from);
  const list = Object.keys(columns).find((name) => !(path.split('.')[0]! in answer) && Array.isArray(answer[name]));
  const values = list ? (answer[list] as unknown[]).map(get) : [get(answer)];
  if (!list && values[0] === undefined) usage(`the answer has no ${path}; it has ${Object.keys(answer).join(', ')}`);
  return values.map((value) => `${typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)}\n`).join('');
}

const flat = (value: Json, prefix = ''): [string, unknown][] =>
  Object.entries(value).flatMap(([key, v]) => (isObject(v) ? flat(v, `${prefix}${key} `) : [[`${prefix}${key}`, v] as [string, unknown]]));

function cell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'string') return printable(value.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)\.\d{3}Z$/, '$1 $2Z'));
  if (Array.isArray(value)) return value.length ? value.map((v) => cell(isObject(v) ? Object.values(v)[0] : v)).join(', ') : '-';
  if (isObject(value))
    return (
      Object.entries(value)
        .map(([k, v]) => `${k}=${cell(v)}`)
        .join(' ') || '-'
    );
  return String(value);
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const words = (name: string) => name.replaceAll(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);
const bold = (text: string) => styleText('bold', text, { stream: process.stdout });
