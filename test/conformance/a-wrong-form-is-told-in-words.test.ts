import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type, { type TSchema } from 'typebox';
import { input } from '../../contract/common.ts';
import { contract } from '../../contract/index.ts';
import { Refusal } from '../../src/kernel/errors.ts';
import { checker } from '../../src/kernel/http/validate.ts';

interface Form {
  pattern?: string;
  minLength?: number;
  properties?: Record<string, Form>;
  propertyNames?: Form;
  items?: Form;
  anyOf?: Form[];
}

/** Each place of a schema that has a pattern, as a value that is wrong there alone. */
function wrongForms(schema: Form): unknown[] {
  if (schema.pattern !== undefined) return ['\u00b6'.repeat(schema.minLength ?? 1)];
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, field]) => wrongForms(field).map((value) => ({ [name]: value }))),
    ...(schema.propertyNames ? wrongForms(schema.propertyNames).map((name) => ({ [String(name)]: 'x' })) : []),
    ...(schema.items ? wrongForms(schema.items).map((value) => [value]) : []),
    ...(schema.anyOf ?? []).flatMap(wrongForms),
  ];
}

/** The same schema with every field optional: what is missing would be told before what is wrong. */
function withoutRequired<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(withoutRequired) as T;
  if (schema === null || typeof schema !== 'object') return schema;
  const rest = Object.entries(schema).filter(([name, value]) => name !== 'required' || !Array.isArray(value));
  return Object.fromEntries(rest.map(([name, value]) => [name, withoutRequired(value)])) as T;
}

/** What a person reads: the field, then its form as a phrase that goes on, and no expression. */
const inWords = /^\S+ is not written as it must be: (?:an? |the |base64 |lower-case |`[#:\w]+` |\d+ to \d+ )[^\\^$[\];]{12,170}$/;

function findWordless(schema: TSchema, part: 'body' | 'query' | 'path'): string[] {
  const check = checker(withoutRequired(schema), part);
  return wrongForms(schema as Form).flatMap((value) => {
    try {
      check(value);
      return [`${JSON.stringify(value)} is taken`];
    } catch (error) {
      const said = error instanceof Refusal ? error.message : String(error);
      return inWords.test(said) ? [] : [said];
    }
  });
}

test('whatever has a form of its own tells it in words when it is refused', () => {
  const tried = contract.flatMap((op) => [op.body, op.query, op.params].flatMap((schema) => (schema ? wrongForms(schema as Form) : [])));
  assert.ok(tried.length >= 20, `${tried.length} forms`);
  const wordless = contract.flatMap((op) => [
    ...(op.body ? findWordless(op.body, 'body') : []),
    ...(op.query ? findWordless(op.query, 'query') : []),
    ...(op.params ? findWordless(op.params, 'path') : []),
  ]);
  assert.deepEqual([...new Set(wordless)], []);
});

test('the check finds what it looks for', () => {
  const form = (description?: string) => Type.String({ maxLength: 9, pattern: '^[a-z]+$', ...(description ? { description } : {}) });
  const good = form('Lower-case letters, at least one of them; unique');
  const planted: TSchema[] = [form(), form('Globally unique'), form('A text that matches ^[a-z]+$'), form('Letters')];
  for (const bad of planted)
    for (const schema of [
      input({ name: bad }),
      input({ deep: input({ name: bad }) }),
      input({ names: Type.Array(bad) }),
      input({ name: Type.Optional(Type.Union([bad, Type.Null()])) }),
      input({ map: Type.Unsafe({ type: 'object', propertyNames: bad, additionalProperties: { type: 'string' } }) }),
    ])
      assert.equal(findWordless(schema, 'body').length, 1, JSON.stringify(schema));
  assert.deepEqual(findWordless(input({ name: good }), 'body'), []);
});
