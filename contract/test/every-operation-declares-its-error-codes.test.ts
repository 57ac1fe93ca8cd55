import assert from 'node:assert/strict';
import { test } from 'node:test';
import { codesOf } from '../error-codes.ts';
import { contract } from '../index.ts';
import { openapi } from '../openapi.ts';

interface Answer {
  headers?: { 'X-Error-Code'?: { schema: { enum: string[] } } };
}

test('every refusal of every operation names its codes in the OpenAPI document', () => {
  const document = openapi(contract, '1') as { paths: Record<string, Record<string, { responses: Record<string, Answer> }>> };
  for (const op of contract) {
    const { responses } = document.paths[`/api/v1${op.path}`]![op.method.toLowerCase()]!;
    for (const [status, answer] of Object.entries(responses)) {
      const codes = answer.headers?.['X-Error-Code']?.schema.enum;
      if (Number(status) < 400) assert.equal(codes, undefined, `${op.id} ${status}`);
      else assert.ok(codes!.length > 0 && codes!.every((code) => /^[a-z_]+$/.test(code)), `${op.id} ${status}: ${codes}`);
    }
  }
});

test('codes tell apart what one status means', () => {
  const of = (id: string) => codesOf(contract.find((op) => op.id === id)!);
  assert.deepEqual(of('createMonitor')[403], [
    'forbidden',
    'organization_mismatch',
    'second_factor_required',
    'not_entitled',
    'quota_reached',
  ]);
  assert.deepEqual(of('savePagingSettings')[403], ['forbidden', 'organization_mismatch', 'second_factor_required', 'narrowed_token']);
  assert.deepEqual(
    of('createToken')[409]!.filter((code) => code !== 'conflict'),
    ['idempotency_mismatch', 'idempotency_running', 'idempotency_secret'],
  );
  assert.deepEqual(of('sendEmail')[429], ['rate_limited', 'daily_quota']);
});
