import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql, statement } from '../sql.ts';

test('a statement is the same wherever its values differ, and another one where a piece of SQL stands instead of a value', () => {
  const select = (what: unknown) => statement(sql`select ${what} as a, ${2} as b`);
  const first = select(1);
  assert.deepEqual({ text: first.text, values: first.values }, { text: 'select $1 as a, $2 as b', values: [1, 2] });
  assert.deepEqual(select('x'), { ...first, values: ['x', 2] });
  const nested = select(sql`${3} + 4`);
  assert.deepEqual({ text: nested.text, values: nested.values }, { text: 'select $1 + 4 as a, $2 as b', values: [3, 2] });
  assert.notEqual(nested.name, first.name);
  assert.deepEqual(select(5), { ...first, values: [5, 2] });
});
