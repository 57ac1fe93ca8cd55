import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { insertArrivals } from '../../../inbound/store/insert-arrivals.ts';
import { addSegment, markStored, sealSegment } from '../../../store/segments.ts';

test('a segment that was sealed before its first batch takes none', async (t) => {
  const { app } = await quarterdeck(t, {});
  const key = 'mail/segments/00/asleep';
  await app.db.write((tx) => sealSegment(tx, key));
  await app.db.write((tx) => markStored(tx, key));
  const isOpen = (segment: string) =>
    app.db.write(async (tx) => {
      await addSegment(tx, segment, 'node');
      return (await insertArrivals(tx, { arrivals: [], leaseSeconds: 60, counted: { orgs: [], senders: [] }, mostOfSender: null, segment }))
        .is_open;
    });
  assert.equal(await isOpen(key), false);
  assert.equal(await isOpen(`${key}2`), true);
});
