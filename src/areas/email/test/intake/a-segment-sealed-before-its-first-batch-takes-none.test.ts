import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { useSegment } from '../../store/intake.ts';
import { markStored, sealSegment } from '../../store/retention.ts';

test('a segment that was sealed before its first batch takes none', async (t) => {
  const { app } = await quarterdeck(t, {});
  const key = 'mail/segments/00/asleep';
  await app.db.write((tx) => sealSegment(tx, key));
  await app.db.write((tx) => markStored(tx, key));
  assert.equal(await app.db.write((tx) => useSegment(tx, key, 'node', false)), false);
  assert.equal(await app.db.write((tx) => useSegment(tx, `${key}2`, 'node', false)), true);
});
