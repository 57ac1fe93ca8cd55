import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../index.ts';

const secretFields = [
  'secret',
  'password',
  'token',
  'key',
  'signingSecret',
  'kubeconfig',
  'joinToken',
  'access_token',
  'link',
  'deviceCode',
];

/** Names of all fields in a schema, at any depth. */
function fields(schema: unknown): string[] {
  if (schema === null || typeof schema !== 'object') return [];
  const { properties, ...rest } = schema as { properties?: Record<string, unknown> };
  return [...Object.keys(properties ?? {}), ...Object.values(properties ?? {}).flatMap(fields), ...Object.values(rest).flatMap(fields)];
}

test('an operation is marked as carrying a secret exactly when a field of its answer is one', () => {
  for (const op of contract) {
    const found = Object.values(op.responses)
      .flatMap(fields)
      .filter((name) => secretFields.includes(name));
    assert.equal(op.secret ?? false, found.length > 0, `${op.id}: ${found.join() || 'no secret field'}`);
  }
});

test('what a client reads again never carries a secret, but for the short-lived client configuration', () => {
  assert.deepEqual(
    contract.filter((op) => op.method === 'GET' && op.secret).map((op) => op.id),
    ['getClusterKubeconfig'],
  );
});
