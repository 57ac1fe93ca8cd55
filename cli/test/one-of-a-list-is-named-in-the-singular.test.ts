import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Field, readCommands } from '../../sdk/commands.ts';
import { aliasesOf } from '../aliases.ts';

test('one of a list is named in the singular', () => {
  const lists = new Set<string>();
  const gather = (field: Field) => {
    const [one] = field.list || field.type === 'record' ? aliasesOf(field) : [];
    if (one) lists.add(one);
    field.fields?.forEach(gather);
  };
  for (const { fields } of readCommands().commands) fields.forEach(gather);
  assert.deepEqual(
    [...lists].filter((word) => /(?:[sxh]e|i)$/.test(word)),
    [],
    'no word of English ends so',
  );
  for (const word of ['repoPrefix', 'step', 'domainId', 'vantage']) assert.ok(lists.has(word), word);
});
