import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { deleteOldMessages } from '../../../store/retention.ts';
import { recordAttempt } from '../../store/own-mail.ts';

test('the product’s own mail is removed after 90 days, also mail that is no longer tried', async (t) => {
  const { app, clock, owner } = await quarterdeck(t, {});
  const attempt = {
    org: owner.orgId,
    key: 'own page-1',
    domainId: 'dom_1',
    recipientId: 7_000_000,
    messageId: 'msg_01M7P0000000000000000000AB',
    sender: 'a@example.com',
    address: 'b@far.example',
    folded: 'b@far.example',
    subject: 's',
    headerId: '<x@example.com>',
    bytes: 10,
    error: 'not reached',
    bounceType: null,
    detail: {},
  };
  await app.db.write((tx) => recordAttempt(tx, { ...attempt, state: 'deferred' }));
  assert.equal(await app.db.write((tx) => deleteOldMessages(tx, 10)), 0);
  await clock.advance('2200h');
  assert.equal(await app.db.write((tx) => deleteOldMessages(tx, 10)), 1);
});
