import type { Column } from '../../sdk/commands.ts';
import { fieldAt, isObject, type Json } from '../../sdk/values.ts';
import { usage } from '../exit.ts';
import { headOf } from './table.ts';

type Lists = Record<string, Column[]>;

/** Columns are called by their field, or by their title as it is shown. */
function findColumn(columns: Column[], name: string): Column | undefined {
  const title = name.toLowerCase().replaceAll(/[-_]/g, ' ');
  return (
    columns.find(({ key }) => key === name) ??
    columns.find((column) => !column.rest && headOf(column).toLowerCase() === title) ??
    columns.find(({ key }) => key.toLowerCase() === name.toLowerCase()) ??
    (columns.some(({ key }) => key === name.split('.')[0]) ? { key: name } : undefined)
  );
}

const listNamed = (lists: Lists, names: string[]) =>
  Object.entries(lists).find(([, columns]) => names.every((name) => findColumn(columns, name)));

const namesOf = (lists: Lists) => [...new Set(Object.values(lists).flatMap((columns) => columns.map(({ key }) => key)))].join(', ');

/** `--columns a,b`: these, in this order. Of several lists, those that have them all. */
export function chosenColumns(lists: Lists, given: string): Lists {
  const names = given.split(',').map((name) => name.trim());
  const odd = names.find((name) => !listNamed(lists, [name]));
  if (odd !== undefined) usage(`there is no column ${JSON.stringify(odd)}; there are ${namesOf(lists)}`);
  if (!listNamed(lists, names)) usage(`no list of the answer has all of the columns ${names.join(', ')}`);
  return Object.fromEntries(
    Object.entries(lists).map(([list, columns]) => {
      const found = names.map((name) => findColumn(columns, name));
      return [list, found.every((column) => column) ? found.map((column) => shownAlways(column!)) : columns];
    }),
  );
}

const shownAlways = ({ wide: _, rest: __, ...column }: Column): Column => column;

/** `--sort key`, `--sort -key`: the rows of the first list that has it. Equal rows keep their order; rows without a value come last. */
export function sorted(answer: Json, lists: Lists, given: string): Json {
  const isDescending = given.startsWith('-');
  const name = isDescending ? given.slice(1) : given;
  const [list, columns] =
    listNamed(lists, [name]) ?? usage(`there is no column ${JSON.stringify(name)} to sort by; there are ${namesOf(lists)}`);
  if (!Array.isArray(answer[list])) return answer;
  const column = findColumn(columns, name)!;
  // What was made last has the smallest age.
  const isAge = name !== column.key && headOf(column) === 'AGE';
  const direction = isDescending !== isAge ? -1 : 1;
  const cellValue = (row: unknown) => fieldAt(row, column.key) ?? (column.or ? fieldAt(row, column.or) : undefined);
  const rows = [...(answer[list] as unknown[])].sort((a, b) => compare(cellValue(a), cellValue(b), direction));
  return { ...answer, [list]: rows };
}

function compare(a: unknown, b: unknown, direction: number): number {
  const isAbsent = (value: unknown) => value === undefined || value === null;
  if (isAbsent(a) || isAbsent(b)) return Number(isAbsent(a)) - Number(isAbsent(b));
  if (typeof a === 'number' && typeof b === 'number') return (a - b) * direction;
  return textOf(a).localeCompare(textOf(b), 'en', { numeric: true }) * direction;
}

const textOf = (value: unknown) => (Array.isArray(value) || isObject(value) ? JSON.stringify(value) : String(value));

/** `-o name`: what further commands take, one a line. */
export function names(answer: Json, lists: Lists, handleOf: (thing: Json) => string | undefined): string[] {
  const own = handleOf(answer);
  if (own !== undefined) return [own];
  const [list, columns] =
    Object.entries(lists).find(([name]) => Array.isArray(answer[name])) ?? usage('the answer has no name; see -o json');
  const { key } = columns.find(({ as }) => as === 'id') ?? columns[0]!;
  return (answer[list] as Json[]).map((row) => String(fieldAt(row, key) ?? ''));
}

/** `--only field`: bare, for scripts; of the answer, or of everything in its list. */
export function only(answer: Json, lists: Lists, path: string): string[] {
  const first = path.split('.')[0]!;
  const list = Object.keys(lists).find((name) => !Object.hasOwn(answer, first) && Array.isArray(answer[name]));
  const values = list ? (answer[list] as unknown[]).map((row) => fieldAt(row, path)) : [fieldAt(answer, path)];
  if (!list && values[0] === undefined) usage(`the answer has no ${path}; it has ${Object.keys(answer).join(', ')}`);
  return values.map((value) => (typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value)));
}
