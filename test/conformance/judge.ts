import assert from 'node:assert/strict';
import { Compile, type Validator } from 'typebox/schema';
import { errorsOf, type Op } from '../../contract/common.ts';
import { codesOf } from '../../contract/error-codes.ts';
import { contract } from '../../contract/index.ts';
import type { WireAnswer } from './wire.ts';

/** What is made by a POST to a collection is found below it, where the contract has such a path. */
const hasItems = (spec: Op) =>
  contract.some(({ path }) => path.startsWith(`${spec.path}/{`) && path.split('/').length === spec.path.split('/').length + 1);

const validators = new Map<string, Validator>();

/** Holds an answer against the contract: throws with a sentence about what is wrong with it. */
export function judge(spec: Op, { status, headers, text }: WireAnswer) {
  const declared = [...Object.keys(spec.responses), ...Object.keys(errorsOf(spec))].map(Number);
  assert.ok(status < 500, `answered ${status}: ${text}`);
  // A slash in an id makes another path of it: then this was not the operation's answer.
  if (status === 404 && headers['x-error-code'] === 'no_such_operation') return;
  assert.ok(declared.includes(status), `answered ${status}, which the contract does not declare: ${text}`);
  requestId(headers);
  if (status < 400) judgeSuccess(spec, status, headers, text);
  else judgeRefusal(spec, status, headers, text);
}

function judgeSuccess(spec: Op, status: number, headers: WireAnswer['headers'], text: string) {
  const schema = spec.responses[status];
  if (!schema) return assert.equal(text, '', `${status} came with a body`);
  if (status === 201 && hasItems(spec))
    assert.match(header(headers, 'location'), /^\/api\/v1\/.+\/[^/]+$/, '201 without Location, of what has a path of its own');
  if (spec.produces) return assert.ok(header(headers, 'content-type').startsWith(spec.produces), `came as ${headers['content-type']}`);
  assert.match(header(headers, 'content-type'), /^application\/json\b/);
  const key = `${spec.id} ${status}`;
  const validator = validators.get(key) ?? Compile(schema);
  validators.set(key, validator);
  const body: unknown = JSON.parse(text);
  assert.ok(validator.Check(body), `the answer is not what the contract says: ${JSON.stringify(validator.Errors(body)[1])} in ${text}`);
}

function judgeRefusal(spec: Op, status: number, headers: WireAnswer['headers'], text: string) {
  const body = refusal({ status, headers, text });
  const code = header(headers, 'x-error-code');
  assert.ok(codesOf(spec)[status]?.includes(code), `${status} came with the code ${code}, which the contract does not declare`);
  if (status === 401) assert.ok(body.startsWith(spec.area.unauthenticated), `401 begins with other words than the specification: ${body}`);
  if (status === 429) assert.match(header(headers, 'retry-after'), /^\d+$/, '429 without Retry-After');
}

const header = (headers: WireAnswer['headers'], name: string) => String(headers[name] ?? '');
const requestId = (headers: WireAnswer['headers']) =>
  assert.match(header(headers, 'x-request-id'), /^[\w.-]{8,100}$/, 'X-Request-Id is missing');

/** The sentence of a refusal of exactly the shape that every refusal has. */
export function refusal({ headers, text }: WireAnswer): string {
  assert.match(header(headers, 'content-type'), /^application\/json\b/, `a refusal came as ${headers['content-type']}: ${text}`);
  assert.match(header(headers, 'x-error-code'), /^[a-z_]+$/, `X-Error-Code is missing: ${text}`);
  requestId(headers);
  const body = JSON.parse(text) as { error: string };
  assert.deepEqual(Object.keys(body), ['error'], 'a refusal is exactly { error }');
  assert.ok(typeof body.error === 'string' && body.error.length > 0);
  return body.error;
}
