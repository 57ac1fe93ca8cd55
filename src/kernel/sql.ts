import { createHash } from 'node:crypto';

/** A piece of SQL with its values apart. Pieces nest: `sql\`… where ${isVisible(visible, sql\`g.id\`)}\``. */
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

export function statement(piece: Sql): Statement {
  const values: unknown[] = [];
  const text = write(piece, values);
  let name = names.get(text);
  if (!name) {
    name = createHash('sha256').update(text).digest('base64url').slice(0, 24);
    names.set(text, name);
  }
  return { name, text, values };
}

function write(piece: Sql, values: unknown[]): string {
  let text = piece.strings[0]!;
  piece.values.forEach((value, i) => {
    text += (value instanceof Sql ? write(value, values) : `$${values.push(value)}`) + piece.strings[i + 1]!;
  });
  return text;
}

/** What a subject may see of a kind of resource: everything of the organization, or these ids only. */
export type Visible = '*' | ReadonlySet<string>;

export const isVisible = (visible: Visible, column: Sql): Sql =>
  visible === '*' ? sql`true` : sql`${column} = any(${[...visible]}::text[])`;
