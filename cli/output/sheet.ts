import type { Column } from '../../sdk/commands.ts';
import { formatOf, isEmpty, isObject, type Json } from '../../sdk/values.ts';
import { commandName } from '../command-name.ts';
import { printable } from '../printable.ts';
import { dnsBlocks, isDnsList } from './dns.ts';
import { type Look, styled } from './look.ts';
import { table, words } from './table.ts';
import { type Cell, oneLine, sheetCell } from './values.ts';
import { displayWidth, pad, wrap } from './width.ts';

interface Shown {
  columns: Record<string, Column[]>;
  next?: string[];
}

/** An answer for people: a list as its table; a thing as a sheet with its name and state first, sections, tables, and what to type next. */
export function sheet(given: Json, { columns, next = [] }: Shown, look: Look, showsWide = false): string {
  const { cursor: _, ...answer } = unwrapped(given, columns);
  const lists = Object.keys(columns).filter((name) => Array.isArray(answer[name]));
  const fields = Object.entries(answer).filter(([name]) => !lists.includes(name));
  const isAlone = !fields.length && lists.length === 1;
  const tables = lists
    .filter((name) => (answer[name] as Json[]).length)
    .map((name) => `${isAlone ? '' : `${title(words(name), look)}\n`}${listText(columns[name]!, answer[name] as Json[], look, showsWide)}`);
  return [...sections(fields, look), ...tables, suggestions(next, answer, look)].filter(Boolean).join('\n');
}

const listText = (columns: Column[], rows: Json[], look: Look, showsWide: boolean) =>
  isDnsList(columns) ? dnsBlocks(rows, look) : table(columns, rows, look, showsWide);

const title = (text: string, look: Look) => styled('bold', text, look);

/** `{ webhook: {…}, signingSecret }` is a webhook with a secret. */
export function unwrapped(answer: Json, columns: Record<string, Column[]>): Json {
  const objects = Object.entries(answer).filter(([, value]) => isObject(value));
  const [wrapped] = objects;
  const others = Object.keys(answer).filter((key) => key !== wrapped?.[0] && key !== 'cursor' && !(key in columns));
  const inner = wrapped?.[1] as Json | undefined;
  const isWrapper = objects.length === 1 && handleOf(answer) === undefined && handleOf(inner!) !== undefined && others.length <= 1;
  if (!isWrapper || others.some((key) => Object.hasOwn(inner!, key))) return answer;
  const { [wrapped![0]]: _, ...rest } = answer;
  return { ...inner, ...rest };
}

const handles = ['id', 'slug', 'name', 'keyId', 'userId'];

/** What a thing is called in further commands. */
export function handleOf(answer: Json): string | undefined {
  const key = handles.find((handle) => ['string', 'number'].includes(typeof answer[handle]));
  return key ? String(answer[key]) : undefined;
}

/** Names come first, then states. */
function rank(name: string, value: unknown): number {
  const first = ['user', 'name', 'displayName', 'title', 'slug', 'id'].indexOf(name);
  if (first >= 0) return first;
  return formatOf(name, value) === 'state' ? 10 : 20;
}

/** Files that the server writes: they stand apart at the margin, to be copied as they are. Other people's lines are always indented. */
const files = new Set(['kubeconfig', 'cloudConfig']);

/** The plain fields, then each object as a section of its own. */
function sections(fields: [string, unknown][], look: Look): string[] {
  const filled = fields
    .filter(([, value]) => !isEmpty(value))
    .map(([name, value]): [string, unknown] => [name, labelled(value) ?? value])
    .sort(([a, x], [b, y]) => rank(a, x) - rank(b, y));
  const isTable = (value: unknown) => Array.isArray(value) && value.every(isObject);
  const isFile = (name: string, value: unknown) => files.has(name) && typeof value === 'string';
  const isPlain = ([name, value]: [string, unknown]) => !isObject(value) && !isTable(value) && !isFile(name, value);
  const apart = filled.filter((field) => !isPlain(field));
  return [
    lines(filled.filter(isPlain), look),
    ...apart.flatMap(([name, value]) => {
      const head = title(label(name), look);
      if (isFile(name, value)) return [`${head}\n${printable((value as string).trimEnd())}\n`];
      if (isTable(value)) return [`${head}\n${table(inferredColumns(value as Json[]), value as Json[], look, true)}`];
      const narrower = look.width === undefined ? look : { ...look, width: Math.max(1, look.width - 2) };
      const inner = sections(Object.entries(value as Json), narrower).filter(Boolean);
      return inner.length ? [`${head}\n${indented(inner.join('\n'))}`] : [];
    }),
  ];
}

/** People and targets are told in one line: `Ann (usr_…)`. */
function labelled(value: unknown): string | undefined {
  if (!isObject(value) || typeof value['label'] !== 'string' || !value['label'] || Object.keys(value).length > 3) return undefined;
  const id = value['id'] ?? value['userId'];
  return typeof id === 'string' ? `${value['label']} (${id})` : value['label'];
}

const indented = (text: string) => text.replaceAll(/^(?=.)/gm, '  ');

/** Lists that no operation declares, deep inside an answer. */
const inferredColumns = (rows: Json[]): Column[] =>
  [...new Set(rows.flatMap((row) => Object.keys(row)))].map((key) => ({
    key,
    ...asText(rows.find((row) => !isEmpty(row[key]))?.[key], key),
  }));
const asText = (value: unknown, key: string) => (formatOf(key, value) === 'text' ? { as: 'text' as const } : {});

function lines(fields: [string, unknown][], look: Look): string {
  const short = fields.map(([name]) => label(name));
  const labels = short.map((text, i) =>
    short.indexOf(text) === short.lastIndexOf(text) ? text : words(oneLine(printable(fields[i]![0]))),
  );
  const longest = Math.max(0, ...labels.map(displayWidth));
  return fields
    .map(([name, value], i) => {
      const begin = `${styled('dim', pad(labels[i]!, longest), look)}  `;
      const parts = valueLines(name, value, longest + 2, look);
      return parts.map((part, n) => `${n === 0 ? begin : ' '.repeat(longest + 2)}${styled(part.style, part.text, look)}\n`).join('');
    })
    .join('');
}

/** `createdAt` is `created`, `storageQuotaBytes` is `storage quota`: the value has its unit. */
const label = (name: string) => words(oneLine(printable(name)).replace(/(?<=[a-z])(At|Bytes|Seconds|Ms|Days|GiB|Pct)$/, ''));

function valueLines(name: string, value: unknown, taken: number, look: Look): Cell[] {
  const cell = sheetCell(value, name, look);
  const room = (look.width ?? Number.POSITIVE_INFINITY) - taken;
  const isLong = displayWidth(cell.text) > room;
  if (Array.isArray(value) && isLong) return value.flatMap((item) => valueLines(name, item, taken, look));
  const parts = cell.text.replaceAll('\t', ' ').trimEnd().split('\n');
  if (parts.length === 1 && (!isLong || formatOf(name, value) !== 'text')) return [{ ...cell, text: parts[0]! }];
  return parts.flatMap((part) => (formatOf(name, value) === 'text' ? wrap(part, Math.max(20, room)) : part)).map((text) => ({ text }));
}

/** On a terminal only: a program that reads the sheet has no use for them. */
function suggestions(next: string[], answer: Json, look: Look): string {
  if (look.width === undefined) return '';
  const filled = next.flatMap((command) => filledWith(command, answer) ?? []);
  return filled.length ? [title('Next:', look), ...filled.map((command) => `  ${commandName} ${command}`), ''].join('\n') : '';
}

/** Nothing is suggested that a shell would read otherwise. */
function filledWith(command: string, answer: Json): string | undefined {
  const values = [...command.matchAll(/\{(\w+)\}/g)].map(([, field]) => String(answer[field!] ?? ''));
  if (!values.every((value) => /^\w[\w.@:/+-]*$/.test(value))) return undefined;
  return values.reduce((text, value) => text.replace(/\{\w+\}/, () => value), command);
}

/** Lists of what is missing from the answer or still to be done: that there is nothing goes without saying. */
const unsaid = ['unavailable', 'withheld', 'firstSteps'];

/** A list that the answer counts itself is not said to be empty once more. */
const isCounted = (answer: Json, name: string) => isObject(answer['totals']) && name in answer['totals'];

/** The lists that came back empty where nothing but lists was asked for, to say so. */
export const emptyLists = (answer: Json, columns: Record<string, Column[]>) =>
  handleOf(unwrapped(answer, columns)) === undefined
    ? Object.keys(columns)
        .filter(
          (name) =>
            !unsaid.includes(name) && !isCounted(answer, name) && Array.isArray(answer[name]) && !(answer[name] as unknown[]).length,
        )
        .map(words)
    : [];
