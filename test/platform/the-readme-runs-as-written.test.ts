import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { startTourist } from '../harness/tour.ts';

test('the README runs as written', { timeout: 170_000 }, async (t) => {
  const text = readFileSync('README.md', 'utf8');
  const words = text.split(/\s+/).length;
  assert.ok(words <= 900, `the README has ${words} words; what a tour or docs/running.md can say belongs there`);
  const { follow } = await startTourist(t);
  await follow(t, 'README.md');
});
