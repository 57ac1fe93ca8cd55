import { messagesTo, sendMessage } from '../twilio/client.ts';
import { isStopped } from '../../store/settings.ts';
import { type Channel, PageFailed, type PageToSend } from './channel.ts';
import { handOver, reachable } from './phone.ts';

/** Reply codes stand in every message: they say which incident is meant, and by them we find it again at the provider. */
const replyWords = (page: PageToSend) => `Reply ${page.code}a to acknowledge, ${page.code}r to resolve.`;

const body = (page: PageToSend) => {
  const what = `[${page.incident.serviceName}] ${page.incident.title}`;
  return `${what.length > 400 ? `${what.slice(0, 399)}…` : what}\n${replyWords(page)}`;
};

export const sms: Channel = {
  send: async (app, page) => {
    const { account, phone } = await reachable(app, page);
    if (await app.db.read((tx) => isStopped(tx, page.org, page.user.id))) {
      throw new PageFailed(`${page.user.label} texted STOP; saving the paging settings again lifts it`, true);
    }
    const providerId = await handOver(app, page, (statusCallback) =>
      sendMessage(account, { to: phone, from: account.fromNumber, body: body(page), ...(statusCallback ? { statusCallback } : {}) }),
    );
    return { providerId, state: 'sent' };
  },
  find: async (app, page) => {
    const { account, phone } = await reachable(app, page);
    const sent = await messagesTo(account, phone, account.fromNumber, page.sendingAt);
    const found = sent.find((m) => m.body?.includes(replyWords(page)) && !['failed', 'undelivered', 'canceled'].includes(m.status));
    return found && { providerId: found.sid, state: found.status === 'delivered' ? 'delivered' : 'sent' };
  },
};
