import Type from 'typebox';
import { DateTimeInput, input, named, op } from '../common.ts';
import { EmailAccepted } from './messages.ts';

const mailbox = Type.String({ minLength: 3, maxLength: 998, description: 'An address, or a name and an address: `Ada <ada@example.com>`' });
const mailboxes = (minItems: 0 | 1) => Type.Array(mailbox, { minItems, maxItems: 50 });
const words = (maxProperties: number, description: string) =>
  Type.Unsafe<Record<string, string>>({
    type: 'object',
    maxProperties,
    propertyNames: { type: 'string', maxLength: 100 },
    additionalProperties: { type: 'string', maxLength: 998 },
    description,
  });

const EmailSend = named(
  'EmailSend',
  input({
    from: mailbox,
    to: mailboxes(1),
    cc: Type.Optional(mailboxes(0)),
    bcc: Type.Optional(mailboxes(0)),
    replyTo: Type.Optional(mailboxes(0)),
    subject: Type.String({ maxLength: 998 }),
    html: Type.Optional(Type.String({ maxLength: 10_000_000 })),
    text: Type.Optional(Type.String({ maxLength: 10_000_000, description: 'html, text or both' })),
    headers: Type.Optional(words(50, 'Further headers; those that the platform sets itself are refused')),
    attachments: Type.Optional(
      Type.Array(
        input({
          filename: Type.String({ minLength: 1, maxLength: 255 }),
          content: Type.String({ maxLength: 34_000_000, description: 'Base64' }),
          contentType: Type.Optional(Type.String({ maxLength: 255 })),
          contentId: Type.Optional(Type.String({ maxLength: 255, description: 'For images that the html refers to as cid:' })),
        }),
        { maxItems: 50 },
      ),
    ),
    scheduledAt: Type.Optional(DateTimeInput),
    tags: Type.Optional(words(20, 'Come back in the webhooks about the message')),
  }),
);

const send = {
  method: 'POST',
  permission: 'none',
  credential: 'mail',
  entitlement: 'email',
  bodyLimit: 40_000_000,
  errors: {
    400: 'the input is invalid; the sentence names the field',
    403: 'the domain of `from` is not verified or not the key’s, sending is paused, or email is not enabled for the organization (private beta)',
    409: 'the Idempotency-Key was used before with another body, or is in use now',
    413: 'the message would be larger than 25 MB',
    429: 'the daily quota is used up until midnight UTC, or too many requests; Retry-After says when to come back',
  },
  codes: {
    400: ['invalid_idempotency_key'],
    403: ['domain_not_verified', 'sending_paused'],
    409: ['idempotency_mismatch', 'idempotency_running'],
    429: ['daily_quota'],
    503: ['busy'],
  },
  extension: true,
} as const;

export const sendOps = {
  sendEmail: op({
    ...send,
    path: '/email/send',
    summary: 'Send a message',
    description: 'Accepted means stored: it will be delivered, or you hear why not. At most 50 recipients.',
    body: EmailSend,
    responses: { 202: EmailAccepted },
  }),
  sendEmailBatch: op({
    ...send,
    path: '/email/send/batch',
    summary: 'Send many messages',
    description: 'At most 100, all or none of them; answered in the same order.',
    body: input({ messages: Type.Array(EmailSend, { minItems: 1, maxItems: 100 }) }),
    responses: { 202: Type.Object({ messages: Type.Array(EmailAccepted) }) },
  }),
};
