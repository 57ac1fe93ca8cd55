import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { input } from '../common.ts';
import { contract } from '../index.ts';
import { unbounded } from './bounds.ts';

test('every body, query and typed parameter bounds its strings, lists, maps and numbers and refuses unknown fields', () => {
  const problems = contract
    .filter((op) => !op.foreign)
    .flatMap((op) => [
      ...(op.body ? unbounded(op.body, `${op.id} body`) : []),
      ...(op.query ? unbounded(op.query, `${op.id} query`) : []),
      ...Object.entries(op.params?.properties ?? {}).flatMap(([name, schema]) => unbounded(schema, `${op.id} ${name}`)),
    ]);
  assert.deepEqual(problems, []);
});

test('foreign protocols are unknown to our callers: they need no permission, and the size of the whole is bounded', () => {
  for (const op of contract.filter((o) => o.foreign)) {
    assert.equal(op.permission, 'none', op.id);
    assert.ok(
      op.bodyLimit || !unbounded({ ...op.body, additionalProperties: false }).length,
      `${op.id} has neither bounded fields nor a bodyLimit`,
    );
  }
});

test('the check finds what it looks for', () => {
  const planted = [
    [Type.String(), 'no maxLength'],
    [Type.String({ format: 'uri' }), 'no maxLength'],
    [Type.Integer({ minimum: 0 }), 'no minimum and maximum'],
    [Type.Array(Type.Boolean()), 'no maxItems'],
    [Type.Array(Type.String(), { maxItems: 1 }), 'no maxLength'],
    [Type.Union([Type.String(), Type.Null()]), 'no maxLength'],
    [input({ deep: Type.Optional(input({ name: Type.String() })) }), 'no maxLength'],
    [Type.Object({ name: Type.Boolean() }), 'takes unknown fields'],
    [Type.Unsafe({ type: 'object', additionalProperties: true }), 'a map of anything'],
    [Type.Unsafe({ type: 'object', maxProperties: 1, additionalProperties: { type: 'boolean' } }), 'names of any length'],
    [Type.Unsafe({}), 'no type'],
  ] as const;
  for (const [schema, problem] of planted) assert.match(unbounded(schema).join('; '), new RegExp(problem), JSON.stringify(schema));
});
