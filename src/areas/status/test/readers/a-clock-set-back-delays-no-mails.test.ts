import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { reserveMailSlots } from '../../store/announced.ts';
import { house } from '../support.ts';

test('slots reserved while the clock was ahead delay no mail once it is set back', async (t) => {
  const { owner, app } = await house(t);
  const take = (mails: number) => app.db.write((tx) => reserveMailSlots(tx, owner.orgId, mails, 20));
  assert.equal(await take(100), 0);
  const queued = await take(100);
  assert.ok(queued > 0 && queued <= 5, `${queued} s behind the first hundred`);

  // As a server left it whose clock was a month ahead.
  const jump = () =>
    app.db.write(
      (tx) => run(tx)`
        update status.mail_pace set free_at = free_at + interval '30 days', taken_at = taken_at + interval '30 days' where org_id = ${owner.orgId}`,
    );
  await jump();
  const after = await take(20);
  assert.ok(after > 0 && after <= 10, `${after} s: behind what is queued, and no further`);
  assert.ok((await take(20)) <= after + 1, 'and from then on as ever');

  // Of the release before, which did not note when they were taken.
  await app.db.write((tx) => run(tx)`update status.mail_pace set free_at = free_at + interval '30 days', taken_at = null`);
  assert.equal(await take(1), 0);
});
