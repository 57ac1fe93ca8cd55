import assert from 'node:assert/strict';
import { test } from 'node:test';
import { campaign, randomKills } from '../kill-campaign.ts';
import { eventually } from '../support.ts';

test('a server killed between the provider’s taking a page and its answer does not send it twice', { timeout: 120_000 }, async (t) => {
  const { qd, fire, kill, revive, calm, given, ledger } = await campaign(t, [{ channel: 'sms', delaySeconds: 0 }], {
    servers: 1,
    isRevivedHere: true,
  });
  qd.twilio.fail(/Messages\.json$/, 'cut-after-taking');
  const firing = fire(['lone']);
  await eventually(async () => qd.twilio.sent.length === 1, { everyMs: 1 });
  await kill(0);
  revive(0);
  await firing;
  await calm();
  assert.equal(given('lone', 'message'), 1);
  const [page] = await ledger();
  assert.equal(page?.state, 'sent');
  assert.ok(page.attempts > 1, 'it was taken up again, and found at the provider');
});

test('servers killed at random moments lose no page and double none', { timeout: 180_000 }, (t) =>
  randomKills(t, { rounds: 2, each: 5, isRevivedHere: true }),
);
