import assert from 'node:assert/strict';
import { test } from 'node:test';
import { campaign, randomKills } from '../kill-campaign.ts';
import { eventually } from '../support.ts';

test('a server killed between the provider’s taking a page and its answer does not send it twice', { timeout: 120_000 }, async (t) => {
  const { qd, fire, kill, revive, calm, given, ledger } = await campaign(t, [{ channel: 'sms', delaySeconds: 0 }]);
  qd.twilio.fail(/Messages\.json$/, 'cut-after-taking');
  const firing = fire(['lone']);
  await eventually(async () => qd.twilio.sent.length === 1, { everyMs: 1 });
  await Promise.all([kill(0), kill(1)]);
  revive(0);
  revive(1);
  await firing;
  await calm();
  assert.equal(given('lone', 'message'), 1);
  const [page] = await ledger();
  assert.equal(page?.state, 'sent');
  assert.ok(page.attempts > 1, 'it was taken up again, and found at the provider');
});

test('servers killed at random moments lose no page and double none', { timeout: 180_000 }, (t) => randomKills(t, 2, 5));
