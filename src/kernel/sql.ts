import { createHash } from 'node:crypto';

/** A piece of SQL with separate values. Pieces nest: `sql\`… where ${isVisible(visible, sql\`g.id\`)}\``. */
export class Sql {
  readonly strings: readonly string[];
  readonly values: readonly unknown[];

  constructor(strings: readonly string[], values: readonly unknown[]) {
    this.strings = strings;
    this.values = values;
  }
}

export const sql = (strings: TemplateStringsArray, ...values: unknown[]): Sql => new Sql(strings, values);

export interface Statement {
  name: string;
  text: string;
  values: unknown[];
}

/** PostgreSQL keeps a plan per name and connection; the name follows from the text, so equal statements share one. */
const names = new Map<string, string>();
/** The text of a piece without nested pieces, by its template: building and hashing it anew costs as much as sending it. */
const plain = new WeakMap<readonly string[], Omit<Statement, 'values'>>();

export function statement(piece: Sql): Statement {
  const isPlain = !piece.values.some((value) => value instanceof Sql);
  const known = isPlain ? plain.get(piece.strings) : undefined;
  if (known) return { ...known, values: [...piece.values] };
  const values: unknown[] = [];
  const text = write(piece, values);
  let name = names.get(text);
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
    names.set(text, name);
  }
  if (isPlain) plain.set(piece.strings, { name, text });
  return { name, text, values };
}

function write(piece: Sql, values: unknown[]): string {
  let text = piece.strings[0]!;
  piece.values.forEach((value, i) => {
    text += (value instanceof Sql ? write(value, values) : `$${values.push(value)}`) + piece.strings[i + 1]!;
  });
  return text;
}

/** The resources of a kind that a subject may see: everything of the organization, or these ids only. */
export type Visible = '*' | ReadonlySet<string>;

/** Of what is visible, this alone, if it is. */
export const narrowedTo = (visible: Visible, id: string | undefined): Visible => {
  if (id === undefined) return visible;
  return visible === '*' || visible.has(id) ? new Set([id]) : new Set();
};

export const isVisible = (visible: Visible, column: Sql): Sql =>
  visible === '*' ? sql`true` : sql`${column} = any(${[...visible]}::text[])`;
