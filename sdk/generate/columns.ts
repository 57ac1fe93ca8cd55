import type { Column } from '../commands.ts';
import { type Document, deref, type Op, type Schema } from './document.ts';

export type DeclaredColumns = Record<string, Record<string, (string | Column)[]>>;

const place = 'contract/columns.ts';
const minColumns = 4;
const maxColumns = 6;

/** For each list of objects in the answer: its declared columns, then the fields that only `--columns` shows. */
export function columnsOf(document: Document, op: Op, declared: DeclaredColumns[string]): Record<string, Column[]> {
  return Object.fromEntries(
    listsOf(document, op.answer).map(([name, item]) => {
      const columns = (declared[name] ?? refuse(`${op.id} answers with the list ${name}, which has no columns`)).map(
        (column): Column => (typeof column === 'string' ? { key: column } : column),
      );
      refuseWrongColumns(document, `${op.id} ${name}`, item, columns);
      const rest = Object.keys(item.properties!).filter((key) => !columns.some((column) => column.key === key));
      return [name, [...columns, ...rest.map((key): Column => ({ key, rest: true }))]];
    }),
  );
}

/** Columns of an operation or a list that the contract does not have any more. */
export function refuseStaleColumns(document: Document, ops: Op[], declared: DeclaredColumns) {
  for (const op of ops) {
    const lists = new Set(listsOf(document, op.answer).map(([name]) => name));
    const stale = Object.keys(declared[op.id] ?? {}).find((name) => !lists.has(name));
    if (stale) refuse(`${op.id} has columns for ${stale}, which is no list of objects in its answer`);
  }
}

function refuseWrongColumns(document: Document, list: string, item: Schema, columns: Column[]) {
  for (const { key, or } of columns)
    for (const path of [key, ...(or ? [or] : [])])
      if (!fieldAt(document, item, path)) refuse(`${list} has the column ${path}, which is no field of its items`);
  const shown = columns.filter((column) => !column.wide).length;
  const fewest = Math.min(minColumns, Object.keys(item.properties!).length);
  if (shown < fewest || shown > maxColumns) refuse(`${list} has ${shown} columns that are not wide, and needs ${fewest} to ${maxColumns}`);
}

const refuse = (what: string): never => {
  throw new Error(`${what}: declare its columns in ${place}`);
};

export function fieldAt(document: Document, schema: Schema | undefined, path: string): Schema | undefined {
  return path.split('.').reduce<Schema | undefined>((at, name) => deref(document, deref(document, at)?.properties?.[name]), schema);
}

const listsOf = (document: Document, answer: Schema | undefined): [string, Schema][] =>
  Object.entries(deref(document, answer)?.properties ?? {}).flatMap(([name, schema]) => {
    const item = deref(document, schema.type === 'array' ? schema.items : undefined);
    return item?.properties ? [[name, item] as [string, Schema]] : [];
  });
