import { test } from 'node:test';
import { randomKills } from '../kill-campaign.ts';

test('servers killed under load lose no mail, and send none twice whose answer they read', async (t) => {
  await randomKills(t, { servers: 2, rounds: 2, roundMs: 300 });
});
