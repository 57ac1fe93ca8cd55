import type { Transporter } from 'nodemailer';
import { heldSentence, type RestoreHold } from './backup/restore-hold.ts';
import type { RetryAdvice } from './errors.ts';

/** The product's own mail: pages, invitations, subscriptions. */
export interface Mail {
  /** Sends one message and returns once the next server has accepted it; throws the reason otherwise. */
  deliver(message: Message): Promise<{ response: string }>;
  /** Whether mail can be sent at all, as far as is known. */
  leaves(): boolean;
  /** Checks again, for a caller that would otherwise give up; returns whether mail can be sent. */
  look?(): Promise<boolean>;
}

/** Uses the operator's relay until the product itself can send. */
export interface ProductMail extends Mail {
  /** Mail goes this way while it `leaves`. */
  prefer(own: Mail): void;
}

export function makeMail(relay: Mail, hold: Pick<RestoreHold, 'isHeld'>): ProductMail {
  let own: Mail | undefined;
  const current = () => (own?.leaves() ? own : relay);
  return {
    deliver: async (message) => {
      if (hold.isHeld) throw new NotDelivered(heldSentence, 'for now');
      return current().deliver(message);
    },
    leaves: () => current().leaves(),
    look: async () => current().leaves() || ((await own?.look?.()) ?? false),
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
  /** Part of the Message-ID: the same message sent twice is recognizable as one. */
  id: string;
  headers?: Record<string, string>;
}

/** The message was not sent, and why. */
export class NotDelivered extends Error {
  readonly retryAdvice: RetryAdvice;

  constructor(sentence: string, lasting: RetryAdvice, options?: { cause?: unknown }) {
    super(sentence, options);
    this.name = 'NotDelivered';
    this.retryAdvice = lasting;
  }
}

/** Refusals whose enhanced code (RFC 3463) means a full or disabled mailbox, a mail system, a network, a protocol or a policy. */
const fixableRefusal = /^5\d\d[ -]5\.(?:2\.[12]|3\.[0-35-9]|4|5|7)(?:\.|\b)/;

/** The retry advice for a relay's refusal of the recipient or the message. */
const retryAdviceFor = (code: number, response: string): RetryAdvice =>
  code < 500 ? 'for now' : fixableRefusal.test(response) ? 'until mended' : 'for good';

export interface RelaySettings {
  relay: string;
  from: string;
  /** How long the relay may take to greet; three times that for each further reply. */
  greetingTimeoutMs?: number;
}

/**
 * Messages within a second share a connection: in a burst of pages, a greeting for each costs both sides more than the message. There are
 * more connections than jobs that send, so no message waits for another one. A message that was not begun on a connection which the relay
 * has closed goes over another, once.
 */
const reuse = { pool: true, maxConnections: 64, idleTimeout: 1_000, maxRequeues: 1 };

/** Through the operator's relay. Without one no mail is sent, and every caller gets an error that says so. */
export function relayMail({ relay, from, greetingTimeoutMs = 10_000 }: RelaySettings): Mail {
  if (!relay) {
    return {
      leaves: () => false,
      deliver: async () => {
        throw new NotDelivered(
          'no mail leaves this server: set QUARTERDECK_SMTP_RELAY to smtp://user:password@host:port, or QUARTERDECK_MAIL_FROM to an address whose domain is verified here',
          'until mended',
        );
      },
    };
  }
  let transport: Promise<Transporter> | undefined;
  const open = async () => {
    const { createTransport } = await import('nodemailer'); // 4 MiB, loaded only by processes that send
    const timeouts = { connectionTimeout: greetingTimeoutMs, greetingTimeout: greetingTimeoutMs, socketTimeout: 3 * greetingTimeoutMs };
    return createTransport({ url: relay, ...timeouts, ...reuse, disableFileAccess: true, disableUrlAccess: true }) as Transporter;
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
          // The relay refused the message itself. A refused login (EAUTH, 535) is for the operator to fix, and the message can wait for
          // that.
          code === 'EENVELOPE' || code === 'EMESSAGE' ? retryAdviceFor(responseCode ?? 0, response ?? '') : 'for now',
          { cause: error },
        );
      }
    },
  };
}

/** The same message always has the same Message-ID. */
export const headerIdOf = (id: string, from: string): string =>
  `<${id.replaceAll(/[^\w.-]/g, '.')}@${/@([^\s>]+)/.exec(from)?.[1] ?? 'quarterdeck.invalid'}>`;
