import { test } from 'node:test';
import { killBoth } from '../kill-campaign.ts';

// Many kills, at random moments and at each statement, are test/faults/email-kills.ts.
test('servers killed under load lose no mail, and send none twice whose answer they read', async (t) => {
  await killBoth(t, { withinMs: 300 });
});
