import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outdatedTags } from '../../rules/retention.ts';
import { countSteps } from '../run-steps.ts';

// Milliseconds when each tag is added once; minutes if all tags were copied for each one.
test('retention handles very many tags', { timeout: 60_000 }, () => {
  const updatedAt = '2026-01-01T00:00:00.000Z';
  const tags = Array.from({ length: 100_000 }, (_, i) => ({ name: `v${i}`, updatedAt, pulledAt: null }));
  const { made: gone, count } = countSteps(outdatedTags({ rules: [{ keepLast: 10 }] }, () => false, 'app', tags, updatedAt));
  assert.equal(gone.length, tags.length - 10);
  assert.ok(count >= (2 * tags.length) / 500, `${count} steps, between which others have their turn`);
});
