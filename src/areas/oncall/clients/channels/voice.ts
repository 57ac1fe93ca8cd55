import { callsTo, startCall } from '../twilio/client.ts';
import { announce } from '../../rules/twiml.ts';
import { takenIds } from '../../store/provider.ts';
import type { Channel } from './channel.ts';
import { callbackUrl, handOver, reachable } from './phone.ts';

/** The provider's clock and ours may differ a little. */
const skewMs = 10_000;

export const voice: Channel = {
  send: async (app, page) => {
    const { account, phone } = await reachable(app, page);
    const twiml = announce(page.incident, callbackUrl(app, page, 'gather'));
    const providerId = await handOver(app, page, (statusCallback) =>
      startCall(account, { to: phone, from: account.fromNumber, twiml, ...(statusCallback ? { statusCallback } : {}) }),
    );
    return { providerId, state: 'sent' };
  },
  // Calls carry nothing of ours that can be listed: one to this phone since then, which no other page has claimed, is this one.
  find: async (app, page) => {
    const { account, phone } = await reachable(app, page);
    const since = Date.parse(page.sendingAt) - skewMs;
    const calls = (await callsTo(account, phone, account.fromNumber, page.sendingAt)).filter((c) => Date.parse(c.date_created) >= since);
    const taken = await app.db.read((tx) =>
      takenIds(
        tx,
        page.org,
        calls.map((c) => c.sid),
      ),
    );
    const found = calls.find((c) => !taken.has(c.sid) && c.status !== 'failed');
    return found && { providerId: found.sid, state: 'sent' };
  },
};
