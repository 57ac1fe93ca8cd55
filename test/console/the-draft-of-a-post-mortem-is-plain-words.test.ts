import assert from 'node:assert/strict';
import { test } from 'node:test';
import { postMortem, type Story } from '../../console/areas/oncall/post-mortem.ts';

test('names in the draft of a post-mortem are no markup, mention no person and lead nowhere', () => {
  const name = '@org/everyone see https://evil.example/login or www.evil.example, $x$ <b> [a](b)\n# heading \u202e';
  const at = '2026-11-18T10:00:00.000Z';
  const draft = postMortem({
    incident: { id: 'inc_1', title: name, serviceName: name, openedAt: at },
    before: [],
    entries: [{ at, kind: 'alert', title: name, detail: name }],
    withheld: [],
    unavailable: [],
    truncated: false,
  } as unknown as Story);
  assert.equal(draft.split('\n').filter((line) => line.startsWith('# ')).length, 1, draft);
  assert.ok(draft.includes('evil'));
  for (const acts of [/@\w/, /:\/\/\w/, /www\.\w/, /(?<!\\)\$/, /(?<!\\)</, /(?<!\\)\[a/, /\u202e/]) assert.doesNotMatch(draft, acts);
});
