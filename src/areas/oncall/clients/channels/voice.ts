import { callbackUrl } from '../../rules/callback-url.ts';
import { announce } from '../../rules/twiml.ts';
import { callsTo, startCall } from '../twilio/client.ts';
import { type Channel, furtherWords } from './channel.ts';
import { accountOf, handOver, look } from './phone.ts';

/** The provider's clock and ours may differ a little. */
const skewMs = 10_000;

export const makeVoice = (publicUrl: () => string): Channel => ({
  send: async (page, means) => {
    const account = accountOf(means);
    const twiml = announce(page.incident, callbackUrl(publicUrl(), page, 'gather'), furtherWords(page).join(' '));
    const providerId = await handOver(publicUrl(), page, (statusCallback) =>
      startCall(account, { to: page.address, from: account.fromNumber, twiml, ...(statusCallback ? { statusCallback } : {}) }),
    );
    return { providerId, state: 'sent' };
  },
  // Calls carry nothing of ours that can be listed: one to this phone since then, which no other page has claimed, is this one.
  find: async (page, means) => {
    const account = accountOf(means);
    const since = Date.parse(page.sendingAt) - skewMs;
    const all = await look(callsTo(account, page.address, account.fromNumber, page.sendingAt));
    const calls = all.filter((c) => Date.parse(c.date_created) >= since);
    const claimed = await means.claimed(calls.map((c) => c.sid));
    const found = calls.find((c) => !claimed.has(c.sid) && c.status !== 'failed');
    return found && { providerId: found.sid, state: 'sent' };
  },
});
