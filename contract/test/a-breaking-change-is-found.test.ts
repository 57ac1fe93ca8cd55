import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type, { type TObject, type TSchema } from 'typebox';
import { area, input, type Method, named, nullable, type OpSpec, oneOf, op } from '../common.ts';
import { breakingChanges } from '../compatible.ts';
import { contract } from '../index.ts';
import { openapi } from '../openapi.ts';

const info = { name: 'a', label: 'A', description: 'a', unauthenticated: 'unauthenticated', away: 503 } as const;
const documentOf = (ops: Record<string, OpSpec>) => openapi(Object.values(area(info, ops)), '1');

const base: OpSpec = op({
  method: 'POST',
  path: '/books/{id}',
  summary: 'Change a book',
  permission: 'registry.image.write',
  query: input({ mode: Type.Optional(oneOf(['fast', 'slow'])), page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })) }),
  body: input({
    name: Type.String({ minLength: 1, maxLength: 100 }),
    note: Type.Optional(nullable(Type.String({ maxLength: 10 }), 'null clears it')),
    kind: Type.Optional(oneOf(['paper', 'film'])),
    pages: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 9 }), { maxItems: 5 })),
    words: Type.Optional(Type.Unsafe({ type: 'object', maxProperties: 5, additionalProperties: { type: 'string', maxLength: 5 } })),
  }),
  responses: {
    200: named(
      'Book',
      Type.Object({
        id: Type.String(),
        size: Type.Number(),
        state: oneOf(['open', 'shut']),
        phase: Type.String({ description: 'not an enum' }),
        at: Type.String({ format: 'date-time' }),
        author: Type.Optional(Type.Object({ name: Type.String() })),
        shelf: nullable(Type.String(), 'null until it is shelved'),
        tags: Type.Array(Type.Object({ name: Type.String() })),
        counts: Type.Unsafe<Record<string, number>>({ type: 'object', additionalProperties: { type: 'integer' } }),
      }),
    ),
  },
});
const before = documentOf({ changeBook: base });

const sent = (base.body as TObject).properties as Record<string, TSchema>;
const answered = (base.responses[200] as TObject).properties as Record<string, TSchema>;
const body = (changes: Record<string, TSchema>): OpSpec => ({ ...base, body: input({ ...sent, ...changes }) });
const query = (fields: Record<string, TSchema>): OpSpec => ({ ...base, query: input(fields) });
const answer = (changes: Record<string, TSchema>): OpSpec => ({
  ...base,
  responses: { 200: named('Book', Type.Object({ ...answered, ...changes })) },
});
const without = (fields: Record<string, TSchema>, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));
const found = (changed: OpSpec, id = 'changeBook') => breakingChanges(before, documentOf({ [id]: changed }));

const openThenClosed = breakingChanges(documentOf({ a: { ...base, body: Type.Object(sent) } }), documentOf({ a: base }));
const oldQuery = base.query!.properties as Record<string, TSchema>;
const breaking: [string, string[], RegExp][] = [
  [
    'the operation goes away',
    breakingChanges(before, documentOf({ other: { ...base, path: '/other' } })),
    /POST \/api\/v1\/books\/\{id\}: removed/,
  ],
  ['its method changes', found({ ...base, method: 'PUT' as Method }), /removed/],
  ['its name changes', found(base, 'editBook'), /changeBook is now called editBook/],
  ['it needs a higher tier', found({ ...base, permission: 'registry.image.admin' }), /needs registry\.image\.admin/],
  ['it needs another permission', found({ ...base, permission: 'registry.key.read' }), /needs registry\.key\.read/],
  ['it needs an entitlement', found({ ...base, entitlement: 'email' }), /entitlement email/],
  ['it needs another credential', found({ ...base, permission: 'none', credential: 'mail' }), /another kind of credential/],
  ['a query parameter goes away', found(query(without(oldQuery, 'page'))), /query parameter page is gone/],
  [
    'a query parameter becomes required',
    found(query({ ...oldQuery, page: Type.Integer({ minimum: 1, maximum: 100 }) })),
    /page is now required/,
  ],
  ['a new required query parameter', found(query({ ...oldQuery, sort: Type.Boolean() })), /query parameter sort is now required/],
  ['a query enum narrows', found(query({ ...oldQuery, mode: Type.Optional(oneOf(['fast'])) })), /query mode: takes only fast/],
  [
    'a query number narrows',
    found(query({ ...oldQuery, page: Type.Optional(Type.Integer({ minimum: 2, maximum: 100 })) })),
    /minimum is 2/,
  ],
  ['a path parameter is retyped', found({ ...base, params: Type.Object({ id: Type.Integer() }) }), /path id: was string, is integer/],
  ['a field sent becomes required', found(body({ kind: oneOf(['paper', 'film']) })), /body\.kind: is now required/],
  ['a new required field', found(body({ extra: Type.Boolean() })), /body\.extra: is new, so it must be optional/],
  ['a field sent goes away', found({ ...base, body: input(without(sent, 'kind')) }), /body\.kind: removed/],
  ['an enum sent narrows', found(body({ kind: Type.Optional(oneOf(['paper'])) })), /body\.kind: takes only paper/],
  ['a string sent becomes an enum', found(body({ name: oneOf(['a']) })), /body\.name: takes only a/],
  ['a string sent becomes shorter', found(body({ name: Type.String({ minLength: 1, maxLength: 99 }) })), /maxLength is 99/],
  ['a string sent gets a pattern', found(body({ name: Type.String({ minLength: 1, maxLength: 100, pattern: '^a' }) })), /pattern \^a/],
  ['a string sent gets a format', found(body({ name: Type.String({ minLength: 1, maxLength: 100, format: 'uri' }) })), /format uri/],
  [
    'null is no longer taken',
    found(body({ note: Type.Optional(Type.String({ maxLength: 10 })) })),
    /body\.note: was string or null, is string/,
  ],
  [
    'a list sent becomes shorter',
    found(body({ pages: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 9 }), { maxItems: 4 })) })),
    /maxItems is 4/,
  ],
  [
    'what is in a list sent narrows',
    found(body({ pages: Type.Optional(Type.Array(Type.Integer({ minimum: 0, maximum: 8 }), { maxItems: 5 })) })),
    /pages\[\]: maximum is 8/,
  ],
  [
    'the values of a map narrow',
    found(
      body({
        words: Type.Optional(Type.Unsafe({ type: 'object', maxProperties: 5, additionalProperties: { type: 'string', maxLength: 4 } })),
      }),
    ),
    /words\.\*: maxLength is 4/,
  ],
  [
    'a body where there was none',
    breakingChanges(documentOf({ a: { ...base, body: undefined } as OpSpec }), documentOf({ a: base })),
    /the body is now required/,
  ],
  ['the success status changes', found({ ...base, responses: { 202: base.responses[200]! } }), /no longer answers 200/],
  ['a second success status', found({ ...base, responses: { ...base.responses, 202: null } }), /may now answer 202/],
  ['the answer loses its body', found({ ...base, responses: { 200: null } }), /application\/json is gone/],
  ['the answer is of another media type', found({ ...base, produces: 'text/plain' }), /application\/json is gone/],
  ['a field of the answer goes away', found({ ...base, responses: { 200: Type.Object(without(answered, 'id')) } }), /→ 200\.id: removed/],
  ['a field of the answer is retyped', found(answer({ id: Type.Integer() })), /→ 200\.id: was string, is integer/],
  [
    'an integer becomes any number',
    found(answer({ counts: Type.Unsafe({ type: 'object', additionalProperties: { type: 'number' } }) })),
    /counts\.\*: was integer, is number/,
  ],
  ['a field of the answer may be absent', found(answer({ id: Type.Optional(Type.String()) })), /→ 200\.id: may now be absent/],
  ['a field of the answer may be null', found(answer({ id: nullable(Type.String(), 'x') })), /→ 200\.id: was string, is string or null/],
  ['an enum answered grows', found(answer({ state: oneOf(['open', 'shut', 'lost']) })), /→ 200\.state: may now be another value/],
  ['an enum answered opens', found(answer({ state: Type.String() })), /→ 200\.state: may now be another value/],
  ['a date is no longer one', found(answer({ at: Type.String() })), /→ 200\.at: is no longer a date-time/],
  [
    'deep inside an answer',
    found(answer({ tags: Type.Array(Type.Object({ name: Type.Integer() })) })),
    /tags\[\]\.name: was string, is integer/,
  ],
  ['unknown fields were taken', openThenClosed, /body: refuses unknown fields now/],
  [
    'a body in the answer where there was none',
    breakingChanges(documentOf({ a: { ...base, responses: { 200: null } } }), documentOf({ a: base })),
    /has a body now/,
  ],
  [
    'other alternatives',
    found(body({ note: Type.Optional(Type.Union([Type.String({ maxLength: 10 }), Type.Boolean(), Type.Null()])) })),
    /body\.note: other alternatives/,
  ],
  [
    'an optional field of the answer becomes required',
    found(answer({ author: Type.Object({ name: Type.String() }) })),
    /author: is now required/,
  ],
  ['a new field of the answer is required', found(answer({ extra: Type.String() })), /extra: is new, so it must be optional/],
];

for (const [what, changes, expected] of breaking) {
  test(`breaking: ${what}`, () => assert.match(changes.join('\n'), expected));
}

const allowed: [string, string[]][] = [
  ['nothing', found(base)],
  ['a new operation', breakingChanges(before, documentOf({ changeBook: base, other: { ...base, path: '/other' } }))],
  [
    'a new optional field in body, query and answer',
    [
      ...found(body({ extra: Type.Optional(Type.Boolean()) })),
      ...found(query({ ...oldQuery, extra: Type.Optional(Type.Boolean()) })),
      ...found(answer({ extra: Type.Optional(Type.Boolean()) })),
    ],
  ],
  [
    'a wider body',
    found(
      body({ name: Type.Optional(nullable(Type.String({ maxLength: 200 }), 'x')), kind: Type.Optional(oneOf(['paper', 'film', 'tape'])) }),
    ),
  ],
  ['words', found({ ...answer({ phase: Type.String({ description: 'with a new value' }) }), summary: 'Other', description: 'Other' })],
  ['a refusal that was not declared before', found({ ...base, errors: { 422: 'refused outside' } })],
  ['a lower tier', found({ ...base, permission: 'registry.image.read' })],
  ['membership instead of a permission', found({ ...base, permission: 'member' })],
];

for (const [what, changes] of allowed) {
  test(`allowed: ${what}`, () => assert.deepEqual(changes, []));
}

test('the whole document is compatible with itself, and every removed operation is noticed', () => {
  const whole = openapi(contract, '1');
  assert.deepEqual(breakingChanges(whole, whole), []);
  assert.equal(breakingChanges(whole, openapi([], '1')).length, contract.length);
});
