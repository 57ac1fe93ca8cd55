import Type from 'typebox';
import type { App } from './app.ts';
import { GiveUp, job } from './jobs/declare.ts';
import { type Message, NotDelivered } from './mail.ts';

const MailPayload = Type.Object({
  to: Type.String(),
  subject: Type.String(),
  text: Type.String(),
  html: Type.Optional(Type.String()),
  headers: Type.Optional(Type.Record(Type.String(), Type.String())),
});

/** One message of the product's own. Running twice may deliver twice, under one Message-ID: mail has no better promise. */
export const sendMail = job(
  'kernel.send-mail',
  { lane: 'mail', payload: MailPayload, maxAttempts: 12 },
  async ({ app, payload, key, org = '' }: { app: App; payload: Omit<Message, 'id' | 'org'>; key: string; org?: string }) => {
    await app.mail.deliver({ ...payload, id: key, org }).catch((error) => {
      throw error instanceof NotDelivered && error.retryAdvice === 'for good' ? new GiveUp(error.message, { cause: error }) : error;
    });
  },
);
