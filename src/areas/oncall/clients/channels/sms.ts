import { messagesTo, sendMessage } from '../twilio/client.ts';
import { type Channel, extraSentences, type PageToSend } from './channel.ts';
import { lookUp, requireAccount, sendWithCallback } from './phone.ts';

/** Every message contains its reply code. The code names the incident in a reply, and identifies the message at the provider. */
const replyInstructions = ({ code, isTest }: PageToSend) =>
  isTest ? `Reply ${code}a to confirm that it arrived.` : `Reply ${code}a to acknowledge, ${code}r to resolve.`;

const body = (page: PageToSend) => {
  const what = `[${page.incident.serviceName}] ${page.incident.title}`;
  return `${what.length > 400 ? `${what.slice(0, 399)}…` : what}${extraSentences(page)
    .map((words) => `\n${words}`)
    .join('')}\n${replyInstructions(page)}`;
};

export const makeSms = (publicUrl: () => string): Channel => ({
  send: async (page, context) => {
    const account = requireAccount(context);
    const providerId = await sendWithCallback(publicUrl(), page, (statusCallback) =>
      sendMessage(account, { to: page.address, from: account.fromNumber, body: body(page), ...(statusCallback ? { statusCallback } : {}) }),
    );
    return { providerId, state: 'sent' };
  },
  find: async (page, context) => {
    const account = requireAccount(context);
    const sent = await lookUp(messagesTo(account, page.address, account.fromNumber, page.sendingAt));
    const found = sent.find((m) => m.body?.includes(replyInstructions(page)) && !['failed', 'undelivered', 'canceled'].includes(m.status));
    return found && { providerId: found.sid, state: found.status === 'delivered' ? 'delivered' : 'sent' };
  },
});
