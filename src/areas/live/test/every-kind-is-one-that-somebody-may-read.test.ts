import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { contract } from '../../../../contract/index.ts';
import { kindsOf } from '../../../../contract/kinds.ts';
import { allKinds } from '../engine/kinds.ts';

const src = join(import.meta.dirname, '../../..');

test('every operation says what it shows or changes, and what is changed is shown by one', () => {
  const silent = contract.filter(({ permission, kinds }) => permission === 'member' && kinds === undefined).map(({ id }) => id);
  assert.deepEqual(silent, [], 'no permission says what these are about: they need `kinds`');
  for (const spec of contract)
    for (const kind of [...kindsOf(spec), ...(spec.alsoShows ?? [])])
      assert.ok(allKinds.includes(kind), `${spec.id} changes ${kind}, which no GET shows`);
});

test('every kind that the code hints at is shown by an operation', () => {
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !/(^|\/)test\//.test(file),
  );
  const hinted = files.flatMap((file) => {
    const text = readFileSync(join(src, file), 'utf8');
    return [...text.matchAll(/\bhint(?:Each)?\(([^;]*?)\);/g)].flatMap(([, args = '']) =>
      [...args.matchAll(/'([a-z]+\.[a-z]+)'/g)].map(([, kind]) => ({ file, kind: kind! })),
    );
  });
  assert.ok(hinted.length > 30, String(hinted.length));
  for (const { file, kind } of hinted) assert.ok(allKinds.includes(kind), `${file} hints at ${kind}, which no GET shows`);
});
