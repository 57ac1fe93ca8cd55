import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ApiError } from '../../status.ts';
import { type Field, isScalar, messageNamed } from '../rules/schema/messages.ts';
import { decodeMessage, openEnvelope } from '../rules/schema/protobuf.ts';
import { shapeObject } from '../rules/schema/shape.ts';
import { encodeMessage, envelope } from './encode-protobuf.ts';
import { embedded } from './support.ts';

const kinds = [
  'core.NodeStatus',
  'core.NodeSpec',
  'core.ServiceSpec',
  'core.Secret',
  'coordination.Lease',
  'meta.ObjectMeta',
  'rbac.Role',
  'core.Event',
  'discovery.EndpointSlice',
];
const words = fc.string({ minLength: 1, maxLength: 8 });
const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: words,
  int: fc.integer({ min: 1 }),
  bool: fc.constant(true),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  time: fc.integer({ min: 1, max: 4e9 }).map((seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}Z`),
  microtime: fc
    .integer({ min: 1, max: 4e9 })
    .map((seconds) => `${new Date(seconds * 1000).toISOString().slice(0, 19)}.${String(seconds % 1e6).padStart(6, '0')}Z`),
  quantity: fc.constantFrom('1', '500m', '2Gi', '1.5', '1e3'),
  intstr: fc.oneof(fc.integer({ min: 0, max: 65_535 }), words),
  strings: fc.array(words, { minLength: 1, maxLength: 3 }),
};

/** At the deepest level messages have scalar fields only; messages without any are omitted. */
const fieldsOf = (name: string, depth: number): Field[] =>
  [...messageNamed(name).fields.values()].filter(
    ({ type }) => type !== 'raw' && (isScalar(type) || (depth > 0 && fieldsOf(type, depth - 1).length > 0)),
  );

const anyMessage = (name: string, depth: number): fc.Arbitrary<Record<string, unknown>> =>
  fc.record(Object.fromEntries(fieldsOf(name, depth).map((field) => [field.name, anyField(field, depth)])), { requiredKeys: [] });

function anyField({ type, cardinality }: Field, depth: number): fc.Arbitrary<unknown> {
  // An empty message equals an absent one: Go encodes both.
  const one = isScalar(type)
    ? scalars[type]!
    : anyMessage(type, depth - 1).filter((made) => cardinality === 'list' || Object.keys(made).length > 0);
  if (cardinality === 'list') return fc.array(one, { minLength: 1, maxLength: 2 });
  return cardinality === 'map'
    ? fc.dictionary(
        words.filter((key) => key !== '__proto__'),
        one,
        { minKeys: 1, maxKeys: 2 },
      )
    : one;
}
const clean = (value: unknown) => JSON.parse(JSON.stringify(value));

test('protobuf means the same as JSON', async (t) => {
  for (const name of kinds) {
    const message = messageNamed(name);
    fc.assert(
      fc.property(anyMessage(name, 2), (made) => {
        const { managedFields: _none, ...rest } = made;
        const decoded = decodeMessage(message, encodeMessage(message, rest));
        const judge = (value: unknown) => clean(shapeObject(message, value, 'v1', 'X').object);
        assert.deepEqual(judge(decoded), judge(clean(rest)));
      }),
      { numRuns: 20, endOnFailure: true },
    );
  }
  // Arbitrary bytes are decoded or refused.
  const node = messageNamed('core.Node');
  const good = envelope('v1', 'Node', encodeMessage(node, { metadata: { name: 'a', labels: { x: 'y' } }, spec: { unschedulable: true } }));
  fc.assert(
    fc.property(
      fc.array(fc.record({ at: fc.nat(good.length - 1), to: fc.integer({ min: 0, max: 255 }) }), { minLength: 1, maxLength: 6 }),
      fc.nat(good.length),
      (changes, end) => {
        const bytes = Buffer.from(good);
        for (const { at, to } of changes) bytes[at] = to;
        try {
          shapeObject(node, decodeMessage(node, openEnvelope(bytes.subarray(0, end)).raw), 'v1', 'Node');
        } catch (error) {
          assert.ok(error instanceof ApiError && error.code === 400, String(error));
        }
      },
    ),
    { numRuns: 3_000 },
  );

  const { call } = await embedded(t);
  const type = { 'content-type': 'application/vnd.kubernetes.protobuf' };
  const made = await call('POST', '/api/v1/nodes', good, type);
  assert.equal(made.status, 201, made.text);
  assert.deepEqual(made.body.spec, { unschedulable: true });
  assert.equal((await call('POST', '/api/v1/nodes', envelope('v1', 'Secret', Buffer.alloc(0)), type)).status, 400);
  assert.equal((await call('POST', '/api/v1/nodes', good.subarray(0, 20), type)).status, 400);
  const options = encodeMessage(messageNamed('meta.DeleteOptions'), { preconditions: { uid: 'another' } });
  assert.equal((await call('DELETE', '/api/v1/nodes/a', envelope('v1', 'DeleteOptions', options), type)).status, 409);
  assert.equal((await call('DELETE', '/api/v1/nodes/a', envelope('v1', 'DeleteOptions', Buffer.alloc(0)), type)).status, 200);
});
