import type { Transporter } from 'nodemailer';
import Type from 'typebox';
import type { App } from './app.ts';
import { GiveUp, job } from './jobs/declare.ts';

/** The product's own mail: pages, invitations, subscriptions. */
export interface Mail {
  /** Hands one message over and returns once the next server has taken it; throws what stood in the way. */
  deliver(message: Message): Promise<{ response: string }>;
  /** Whether anything leaves at all. */
  leaves(): boolean;
}

/** Through the operator's relay, until something that sends by itself is there. */
export interface ProductMail extends Mail {
  /** As long as it `leaves`, mail goes this way. */
  prefer(own: Mail): void;
}

export function makeMail(relay: Mail): ProductMail {
  let own: Mail | undefined;
  const way = () => (own?.leaves() ? own : relay);
  return {
    deliver: (message) => way().deliver(message),
    leaves: () => way().leaves(),
    prefer(preferred) {
      own = preferred;
    },
  };
}

export interface Message {
  /** The organization that it is sent for. */
  org: string;
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
  /** How long the relay may take to greet us; three times that for each further answer. */
  patienceMs?: number;
}

/**
 * What follows within a second goes over the same connection: in a storm of pages, greeting the relay for each costs both sides more than the
 * message. There are more of them than jobs that send, so no message waits for another one's; and what was not begun on a connection that the
 * relay has closed meanwhile goes over another, once.
 */
const reuse = { pool: true, maxConnections: 64, idleTimeout: 1_000, maxRequeues: 1 };

/** Through the operator's relay. Without one nothing leaves, and everybody who tries is told so. */
export function relayMail({ relay, from, patienceMs = 10_000 }: RelaySettings): Mail {
  if (!relay) {
    return {
      leaves: () => false,
      deliver: async () => {
        throw new NotDelivered(
          'no mail leaves this server: set QUARTERDECK_SMTP_RELAY to smtp://user:password@host:port, or QUARTERDECK_MAIL_FROM to an address whose domain is verified here',
          false,
        );
      },
    };
  }
  let transport: Promise<Transporter> | undefined;
  const open = async () => {
    const { createTransport } = await import('nodemailer'); // 4 MiB, for those who send
    const patience = { connectionTimeout: patienceMs, greetingTimeout: patienceMs, socketTimeout: 3 * patienceMs };
    return createTransport({ url: relay, ...patience, ...reuse, disableFileAccess: true, disableUrlAccess: true }) as Transporter;
  };
  return {
    leaves: () => true,
    deliver: async ({ to, subject, text, html, id, headers }) => {
      try {
        transport ??= open();
        const { response } = await (await transport).sendMail({
          from,
          to,
          subject,
          text,
          html,
          headers,
          messageId: headerIdOf(id, from),
        });
        return { response: response ?? '' };
      } catch (error) {
        const { responseCode, response, code } = error as { responseCode?: number; response?: string; code?: string };
        throw new NotDelivered(
          `the mail relay did not take the message for ${to}: ${response ?? `${code ?? 'no answer'}; check QUARTERDECK_SMTP_RELAY`}`,
          // Refused for what it is. A refused login (EAUTH, 535) is the operator's to mend, and the message can wait for that.
          (code === 'EENVELOPE' || code === 'EMESSAGE') && (responseCode ?? 0) >= 500,
          { cause: error },
        );
      }
    },
  };
}

/** The same message has the same one, however often it is sent. */
export const headerIdOf = (id: string, from: string): string =>
  `<${id.replaceAll(/[^\w.-]/g, '.')}@${/@([^\s>]+)/.exec(from)?.[1] ?? 'quarterdeck.invalid'}>`;

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
      throw error instanceof NotDelivered && error.permanent ? new GiveUp(error.message, { cause: error }) : error;
    });
  },
);
