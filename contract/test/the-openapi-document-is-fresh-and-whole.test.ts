import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import Type from 'typebox';
import { area, named, op } from '../common.ts';
import { contract } from '../index.ts';
import { openapi } from '../openapi.ts';

type Json = Record<string, unknown>;
const committed = await readFile(new URL('../../openapi/v1.json', import.meta.url), 'utf8');
const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'));

function walk(node: unknown, visit: (node: Json) => void): void {
  if (node === null || typeof node !== 'object') return;
  if (!Array.isArray(node)) visit(node as Json);
  for (const child of Object.values(node)) walk(child, visit);
}

test('openapi/v1.json is what the contract says', () => {
  assert.ok(
    committed === `${JSON.stringify(openapi(contract, version), null, 1)}\n`,
    'openapi/v1.json is stale: run `npm run openapi` and commit it',
  );
});

test('every operation is in it once, and every reference leads somewhere', () => {
  const doc = JSON.parse(committed);
  const found = Object.values(doc.paths as Record<string, Json>).flatMap((item) =>
    Object.values(item).map((o) => (o as Json).operationId as string),
  );
  assert.deepEqual(found.sort(), contract.map((o) => o.id).sort());
  let references = 0;
  walk(doc, (node) => {
    if (typeof node.$ref !== 'string') return;
    references++;
    assert.ok(doc.components.schemas[node.$ref.replace('#/components/schemas/', '')], node.$ref);
  });
  assert.ok(references > contract.length);
});

test('a name stands for one schema only', () => {
  const seen = new Map<string, string>();
  walk(
    contract.map((o) => [o.body, o.query, o.responses]),
    (node) => {
      if (typeof node.title !== 'string') return;
      const text = JSON.stringify(node);
      assert.equal(seen.get(node.title) ?? text, text, `two schemas are called ${node.title}`);
      seen.set(node.title, text);
    },
  );
  assert.ok(seen.size > 50);
});

test('a field that is called title stays a field', () => {
  const info = { name: 'a', label: 'A', description: 'a', unauthenticated: 'unauthenticated', away: 503 } as const;
  const Book = named('Book', Type.Object({ title: Type.String() }));
  const { readBook } = area(info, {
    readBook: op({ method: 'GET', path: '/book', summary: 'Read', permission: 'member', responses: { 200: Book } }),
  });
  const { components } = openapi([readBook], '1') as { components: { schemas: Json } };
  assert.deepEqual(components.schemas.Book, { type: 'object', required: ['title'], properties: { title: { type: 'string' } } });
});

test('descriptions are Markdown: nothing outside of code reads as HTML or emphasis', () => {
  let descriptions = 0;
  walk(JSON.parse(committed), ({ description }) => {
    if (typeof description !== 'string') return;
    descriptions++;
    const words = description.replaceAll(/`[^`]*`/g, '');
    assert.doesNotMatch(words, /<\w|\*/, `a page would not show all of: ${description}`);
  });
  assert.ok(descriptions > contract.length);
});
