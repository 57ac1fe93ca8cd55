import { callbackUrl } from '../../rules/callback-url.ts';
import { announce, testKeys } from '../../rules/twiml.ts';
import { callsTo, startCall } from '../twilio/client.ts';
import { type Channel, extraSentences } from './channel.ts';
import { lookUp, requireAccount, sendWithCallback } from './phone.ts';

/** Allowed difference between the provider's clock and ours. */
const skewMs = 10_000;

export const makeVoice = (publicUrl: () => string): Channel => ({
  send: async (page, context) => {
    const account = requireAccount(context);
    const twiml = announce(
      page.incident,
      callbackUrl(publicUrl(), page, 'gather'),
      extraSentences(page).join(' '),
      page.isTest ? testKeys : undefined,
    );
    const providerId = await sendWithCallback(publicUrl(), page, (statusCallback) =>
      startCall(account, { to: page.address, from: account.fromNumber, twiml, ...(statusCallback ? { statusCallback } : {}) }),
    );
    return { providerId, state: 'sent' };
  },
  // Twilio's call list has no field of ours. So a call to this phone since the first attempt, claimed by no other page, is this page's
  // call.
  find: async (page, context) => {
    const account = requireAccount(context);
    const earliestMs = Date.parse(page.sendingAt) - skewMs;
    const listed = await lookUp(callsTo(account, page.address, account.fromNumber, page.sendingAt));
    const calls = listed.filter((c) => Date.parse(c.date_created) >= earliestMs);
    const claimed = await context.claimedIds(calls.map((c) => c.sid));
    const found = calls.find((c) => !claimed.has(c.sid) && c.status !== 'failed');
    return found && { providerId: found.sid, state: 'sent' };
  },
});
