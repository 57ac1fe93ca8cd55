import type { Static, TSchema } from 'typebox';
import { Compile, type Validator } from 'typebox/schema';
import { sql } from '../sql.ts';
import type { Tx } from './transaction.ts';

const validators = new WeakMap<TSchema, Validator>();

/** `rows(tx, TokenRow)\`select …\``: the rows, typed by a schema. Tests check every row against it. */
export const rows =
  <S extends TSchema>(tx: Tx, schema: S) =>
  async (strings: TemplateStringsArray, ...values: unknown[]): Promise<Static<S>[]> => {
    const result = await tx.query(sql(strings, ...values));
    if (tx.checksRows) for (const found of result.rows) check(schema, found, strings);
    return result.rows as Static<S>[];
  };

/** The first row, or undefined. */
export const row =
  <S extends TSchema>(tx: Tx, schema: S) =>
  async (strings: TemplateStringsArray, ...values: unknown[]): Promise<Static<S> | undefined> =>
    (await rows(tx, schema)(strings, ...values))[0];

/** Runs a statement for its effect and returns the number of rows. */
export const run =
  (tx: Tx) =>
  async (strings: TemplateStringsArray, ...values: unknown[]): Promise<number> =>
    (await tx.query(sql(strings, ...values))).rowCount;

function check(schema: TSchema, found: Record<string, unknown>, strings: TemplateStringsArray) {
  let validator = validators.get(schema);
  if (!validator) {
    validator = Compile({ ...schema, additionalProperties: false });
    validators.set(schema, validator);
  }
  if (!validator.Check(found))
    throw new Error(`a row is not what its schema says: ${JSON.stringify(validator.Errors(found)[1])} in ${strings.join('?')}`);
}
