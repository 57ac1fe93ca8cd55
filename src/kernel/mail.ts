import { createTransport } from 'nodemailer';
import Type from 'typebox';
import type { App } from './app.ts';
import { job } from './jobs/declare.ts';

/** The product's own mail: pages, invitations, subscriptions. The email area takes this port over when it sends itself. */
export interface Mail {
  /** Hands one message over and returns once the next server has taken it; throws what stood in the way. */
  deliver(message: Message): Promise<{ response: string }>;
}

export interface Message {
  to: string;
  subject: string;
  text: string;
  html?: string;
  /** Stands in Message-ID: the same message sent twice is recognizably one. */
  id: string;
  headers?: Record<string, string>;
}

/** The message did not leave, and why. `permanent`: trying again will not help. */
export class NotDelivered extends Error {
  readonly permanent: boolean;

  constructor(sentence: string, permanent: boolean, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'NotDelivered';
    this.permanent = permanent;
  }
}

export interface RelaySettings {
  relay: string;
  from: string;
}

/** Through the operator's relay. Without one nothing leaves, and everybody who tries is told so. */
export function relayMail({ relay, from }: RelaySettings): Mail {
  if (!relay) {
    return {
      deliver: async () => {
        throw new NotDelivered('no mail leaves this server: set QUARTERDECK_SMTP_RELAY to smtp://user:password@host:port', false);
      },
    };
  }
  const transport = createTransport(relay, { from, disableFileAccess: true, disableUrlAccess: true });
  Object.assign(transport.options, { connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 30_000 });
  return {
    deliver: async ({ to, subject, text, html, id, headers }) => {
      try {
        const { response } = await transport.sendMail({
          from,
          to,
          subject,
          text,
          html,
          headers,
          messageId: `<${id}@${from.split('@')[1] ?? 'quarterdeck.invalid'}>`,
        });
        return { response };
      } catch (error) {
        const { responseCode, response, code } = error as { responseCode?: number; response?: string; code?: string };
        throw new NotDelivered(
          `the mail relay did not take the message for ${to}: ${response ?? code ?? 'no answer'}`,
          (responseCode ?? 0) >= 500,
          { cause: error },
        );
      }
    },
  };
}

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
  async ({ app, payload, key }: { app: App; payload: Omit<Message, 'id'>; key: string }) => {
    await app.mail.deliver({ ...payload, id: key });
  },
);
