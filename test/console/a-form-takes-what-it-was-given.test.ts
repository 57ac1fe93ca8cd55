import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { take, typedOf } from '../../console/data/form-values.ts';
import { type Field, readCommands } from '../../sdk/commands.ts';

const field = (more: Partial<Field>): Field => ({ name: 'it', flag: 'it', type: 'string', ...more });

test('a list is written one a line, and keeps its commas; ids and words may be separated by commas', () => {
  const of = (more: Partial<Field>, it: string) => take([field(more)], { it });
  assert.deepEqual(of({ list: true }, 'Doe, Jane <jane@example.com>\nada@example.com\n'), {
    value: { it: ['Doe, Jane <jane@example.com>', 'ada@example.com'] },
  });
  assert.deepEqual(of({ list: true, choices: ['a', 'b'] }, 'a, b'), { value: { it: ['a', 'b'] } });
  assert.deepEqual(of({ list: true, thing: 'domain' }, 'dom_1,dom_2\ndom_3'), { value: { it: ['dom_1', 'dom_2', 'dom_3'] } });
  assert.deepEqual(of({ type: 'record' }, 'X-Team: a:b\n__proto__: c'), {
    value: {
      it: Object.fromEntries([
        ['X-Team', 'a:b'],
        ['__proto__', 'c'],
      ]),
    },
  });
});

/** Texts that a form holds as they are: it takes no space around a value, and an empty one is none. */
const word = fc
  .string({ minLength: 1, maxLength: 12 })
  .map((text) => text.replaceAll(/\s/g, '_'))
  .filter((text) => text !== 'null');
const prose = fc.tuple(word, word).map((lines) => lines.join(',\n'));
const name = fc.stringMatching(/^[A-Za-z][\w-]{0,8}$/);

function valueFor(field: Field): fc.Arbitrary<unknown> {
  const { type, list, choices, thing, fields } = field;
  if (type === 'object') {
    const one = recordOf(fields ?? []);
    return list ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
  }
  if (type === 'record') return fc.dictionary(name, word, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  if (type === 'boolean') return fc.boolean();
  if (type === 'integer') return fc.integer();
  if (type === 'number') return fc.integer().map((n) => n / 4);
  const one = choices ? fc.constantFrom(...choices) : thing ? name : list ? word : prose;
  return list ? fc.array(one, { minLength: 1, maxLength: 3 }) : one;
}

const recordOf = (fields: readonly Field[]): fc.Arbitrary<Record<string, unknown>> =>
  fc.tuple(...fields.map((each) => valueFor(each))).map((values) => Object.fromEntries(fields.map((each, at) => [each.name, values[at]])));

test('what a form begins with is what it sends again, for every operation', () => {
  for (const { operation, fields, body } of readCommands().commands.filter((command) => command.fields.length)) {
    if (body === 'list') continue;
    fc.assert(
      fc.property(recordOf(fields), (input) => {
        assert.deepEqual(take(fields, typedOf(fields, input)), { value: input }, operation);
      }),
      { numRuns: 5 },
    );
  }
});
