import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Command, Field } from '../../sdk/commands.ts';
import { Failure } from '../exit.ts';
import { type Raw, readValue } from '../fields.ts';
import { inputOf } from '../input.ts';

const field = (more: Partial<Field>): Field => ({ name: 'thing', flag: 'thing', type: 'string', ...more });
const scope = field({
  type: 'object',
  list: true,
  fields: [
    field({ name: 'role', flag: 'role' }),
    field({ name: 'resourceIds', flag: 'resource-ids', list: true }),
    field({ name: 'days', flag: 'days', type: 'integer' }),
  ],
});

const retention = field({
  type: 'object',
  fields: [
    field({ name: 'untaggedDays', flag: 'untagged-days', type: 'integer' }),
    field({ name: 'rules', flag: 'rules', type: 'object', list: true, fields: [field({ name: 'tags', flag: 'tags' })] }),
  ],
});

test('values are read as the schema has them', () => {
  const cases: [Partial<Field>, Raw, unknown][] = [
    [{}, '12', '12'],
    [{}, 'a,b', 'a,b'],
    [{}, 'null', 'null'],
    [{ nullable: true }, 'null', null],
    [{ type: 'integer' }, '12', 12],
    [{ type: 'number' }, '-1.5', -1.5],
    [{ type: 'boolean' }, false, false],
    [{ list: true }, ['a,b', 'c'], ['a', 'b', 'c']],
    [{ list: true }, ['["Doe, Jane <jane@example.com>"]', 'b'], ['Doe, Jane <jane@example.com>', 'b']],
    [{ list: true, type: 'integer' }, ['1,2'], [1, 2]],
    [{ type: 'record' }, ['X-A=1,2', 'X-B=a=b', '{"X-C":"3"}'], { 'X-A': '1,2', 'X-B': 'a=b', 'X-C': '3' }],
    [
      scope,
      ['role=uptime.viewer,resourceIds=a,resource-ids=b', 'role=owner,days=3'],
      [
        { role: 'uptime.viewer', resourceIds: ['a', 'b'] },
        { role: 'owner', days: 3 },
      ],
    ],
    [scope, ['{"role":"owner"}', '[{"role":"a"},{"role":"b"}]'], [{ role: 'owner' }, { role: 'a' }, { role: 'b' }]],
    [{ ...scope, list: false }, 'role=a=b', { role: 'a=b' }],
    [{ list: true }, [''], []],
    [retention, '', {}],
    [retention, 'untaggedDays=7', { untaggedDays: 7 }],
    [retention, 'rules=[{"tags":"a,b=c"},{}]', { rules: [{ tags: 'a,b=c' }, {}] }],
    [retention, 'untagged-days=7,rules=[{"tags":"v*"}]', { untaggedDays: 7, rules: [{ tags: 'v*' }] }],
    [retention, 'untaggedDays=7,rules={"tags":"v*"}', { untaggedDays: 7, rules: [{ tags: 'v*' }] }],
    [retention, '{"untaggedDays":7}', { untaggedDays: 7 }],
  ];
  for (const [more, raw, expected] of cases) assert.deepEqual(readValue(field(more), raw), expected, String(raw));
});

const inner = (name: string, more: Partial<Field> = {}) => field({ name, flag: name, ...more });
const participants = field({
  type: 'object',
  list: true,
  fields: [inner('userId', { required: true }), inner('label', { required: true })],
});
const handoff = field({
  type: 'object',
  fields: [inner('interval', { required: true }), inner('dow', { type: 'integer' }), inner('time', { required: true })],
});
const steps = field({
  type: 'object',
  list: true,
  fields: [
    inner('target', {
      type: 'object',
      required: true,
      fields: [inner('kind', { choices: ['schedule', 'user'] }), inner('id'), inner('label', { required: true })],
    }),
    inner('waitSeconds', { type: 'integer', required: true }),
  ],
});
const http = field({ type: 'object', fields: [inner('url', { required: true }), inner('headers', { type: 'record' })] });

test('structured flags need no JSON, and numbers take the units that their fields count', () => {
  const seconds = inner('waitSeconds', { type: 'integer' });
  const cases: [Field, Raw, unknown][] = [
    [participants, ['alice@example.com'], [{ userId: 'alice@example.com' }]],
    [participants, ['alice,bob', 'carol'], [{ userId: 'alice' }, { userId: 'bob' }, { userId: 'carol' }]],
    [participants, ['userId=alice,label=A'], [{ userId: 'alice', label: 'A' }]],
    [handoff, 'weekly,09:00', { interval: 'weekly', time: '09:00' }],
    [handoff, 'weekly,friday,09:00', { interval: 'weekly', dow: 5, time: '09:00' }],
    [handoff, 'dow=0,weekly,09:00', { dow: 0, interval: 'weekly', time: '09:00' }],
    [steps, ['schedule=primary,wait=5m'], [{ target: { kind: 'schedule', id: 'primary' }, waitSeconds: 300 }]],
    [steps, ['target.kind=user,target.id=bob,waitSeconds=90'], [{ target: { kind: 'user', id: 'bob' }, waitSeconds: 90 }]],
    [retention, 'untaggedDays=2w,rules.tags=v*,rules.tags=w*', { untaggedDays: 14, rules: [{ tags: 'v*' }, { tags: 'w*' }] }],
    [http, 'https://example.com/?a=b', { url: 'https://example.com/?a=b' }],
    [http, 'url=https://example.com/,headers.X-Team=a=b', { url: 'https://example.com/', headers: { 'X-Team': 'a=b' } }],
    [seconds, '1h', 3600],
    [seconds, '500ms', 0.5],
    [inner('timeoutMs', { type: 'integer' }), '1.5s', 1500],
    [inner('storageGiB', { type: 'integer' }), '1TiB', 1024],
    [inner('quotaBytes', { type: 'integer' }), '10GiB', 10 * 2 ** 30],
  ];
  for (const [of, raw, expected] of cases) {
    if (expected === 0.5) assert.throws(() => readValue(of, raw), /takes a whole number, or 5m, found "500ms"/);
    else assert.deepEqual(readValue(of, raw), expected, String(raw));
  }
  for (const [of, raw] of [
    [inner('replicas', { type: 'integer' }), '5m'],
    [seconds, '5 minutes'],
    [seconds, '1constructor'],
    [handoff, 'weekly,1,09:00,more'],
    [steps, ['team=x']],
    [steps, ['target=x']],
  ] as [Field, Raw][])
    assert.throws(() => readValue(of, raw), Failure, String(raw));
});

test('what cannot be read is refused with the flag’s name, whatever it is', () => {
  for (const [more, raw] of [
    [{ type: 'integer' }, '1.5'],
    [{ type: 'integer' }, ''],
    [{ type: 'number' }, 'NaN'],
    [{ type: 'record' }, ['=x']],
    [{ type: 'record' }, ['{x']],
    [{ list: true }, ['[x']],
    [scope, ['days=x']],
    [retention, 'rules=[x'],
  ] as [Partial<Field>, Raw][])
    assert.throws(
      () => readValue(field(more), raw),
      (e) => e instanceof Failure && e.exitCode === 2 && e.message.startsWith('--thing '),
      String(raw),
    );

  const kinds = fc.constantFrom<Field>(
    ...(['string', 'integer', 'number', 'boolean', 'record', 'object'] as const).flatMap((type) => [
      field({ type }),
      field({ type, list: true }),
      field({ ...scope, type }),
    ]),
  );
  fc.assert(
    fc.property(kinds, fc.array(fc.string(), { minLength: 1 }), (kind, texts) => {
      try {
        readValue(kind, texts);
      } catch (error) {
        assert.ok(error instanceof Failure, String(error));
      }
    }),
  );
});

test('any value without a comma comes through, as a list and as pairs', () => {
  const plain = fc.string({ minLength: 1 }).filter((s) => !s.includes(',') && !/^[[{]/.test(s));
  fc.assert(
    fc.property(fc.array(plain, { minLength: 1 }), fc.boolean(), (values, byComma) => {
      assert.deepEqual(readValue(field({ list: true }), byComma ? [values.join(',')] : values), values);
      assert.deepEqual(readValue(scope, [values.map((v) => `resourceIds=${v}`).join(',')]), [{ resourceIds: values }]);
    }),
  );
});

test('flags go over what --body brings, and only what is missing from both is missing', async () => {
  const command = {
    words: ['x'],
    body: 'object',
    fields: [field({ name: 'name', flag: 'name', required: true }), field({ name: 'days', flag: 'days', type: 'integer', required: true })],
  } as Command;
  assert.deepEqual(await inputOf(command, new Map([['name', 'flag']]), '{"name":"body","days":2,"more":[1]}'), {
    name: 'flag',
    days: 2,
    more: [1],
  });
  await assert.rejects(inputOf(command, new Map(), '{}'), /^Failure: --name and --days are missing;/);
  assert.deepEqual(await inputOf({ ...command, body: 'list', fields: [] }, new Map(), '[1]'), { body: [1] });
  await assert.rejects(inputOf({ ...command, body: 'list', fields: [] }, new Map(), undefined), /--body is missing/);
});
