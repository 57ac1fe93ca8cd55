import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Op } from '../../contract/common.ts';
import { contract } from '../../contract/index.ts';
import { quarterdeck } from '../harness/index.ts';

interface Property {
  enum?: unknown[];
  anyOf?: { const?: unknown }[];
}

const propertiesOf = ({ query }: Op) => Object.entries((query as { properties?: Record<string, Property> } | undefined)?.properties ?? {});
const isEnum = ({ enum: values, anyOf }: Property) => values !== undefined || (anyOf?.every((each) => 'const' in each) ?? false);
/** Filters whose values the specification leaves as text, and that have a fixed set of them all the same. */
const fixed: Record<string, string[]> = { listMessages: ['state'] };

/** With something in place of each parameter, and what the operation needs beside the one that is wrong. */
function pathOf({ path, query }: Op, given: Record<string, string>): string {
  const required = (query as { required?: string[] } | undefined)?.required ?? [];
  const rest = Object.fromEntries(required.map((name) => [name, name === 'digest' ? `sha256:${'0'.repeat(64)}` : 'x']));
  return `${path.replaceAll(/\{[^{}]+\}/g, 'x')}?${new URLSearchParams({ ...rest, ...given })}`;
}

test('a list takes its own cursors and known values only', async (t) => {
  const { owner, organization } = await quarterdeck(t);
  const other = await organization('neighbours');
  for (const name of ['a', 'b', 'c']) assert.equal((await owner.post('/uptime/services', { name })).status, 201);
  const first = (await owner.get('/uptime/services?limit=1')).body;
  assert.equal((await owner.get(`/uptime/services?limit=1&cursor=${first.cursor}`)).body.services.length, 1, 'the owner goes on with it');

  const reading = (Object.values(contract) as Op[]).filter(({ method, credential }) => method === 'GET' && !credential);
  const lists = reading.filter((op) => propertiesOf(op).some(([name]) => name === 'cursor'));
  assert.ok(lists.length >= 15, `${lists.length} lists`);
  for (const op of lists) {
    const { status, body } = await other.get(pathOf(op, { cursor: first.cursor }));
    assert.deepEqual([status, body.error], [400, 'the cursor is not one of ours; start again without it'], op.id);
  }

  const filters = reading.flatMap((op) =>
    propertiesOf(op).flatMap(([name, schema]) => (isEnum(schema) || fixed[op.id]?.includes(name) ? [{ op, name }] : [])),
  );
  assert.ok(filters.length >= 4, `${filters.length} filters`);
  for (const { op, name } of filters) {
    const { status, body } = await owner.get(pathOf(op, { [name]: 'nonsense' }));
    assert.equal(status, 400, `${op.id} ${name}`);
    assert.match(body.error, new RegExp(`^${name} must be one of `), op.id);
  }
});
