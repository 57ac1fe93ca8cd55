import Type from 'typebox';
import { DateTime, DateTimeInput, Id, input, named, nextCursor, oneOf, op } from '../common.ts';

const direction = oneOf(['send', 'receive']);

/** What was accepted, by its ids. */
export const EmailAccepted = named(
  'EmailAccepted',
  Type.Object({
    id: Type.String({ description: 'For the message log and in webhooks' }),
    messageId: Type.String({ description: 'Its Message-ID header' }),
  }),
);

const EmailMessage = named(
  'EmailMessage',
  Type.Object({
    id: Type.String(),
    direction,
    state: Type.String({
      description:
        'Sent ones: queued, sending, deferred, sent, delivered, bounced, complained, suppressed, failed. Received ones: received, delivered, failed',
    }),
    from: Type.String(),
    to: Type.Array(Type.String()),
    cc: Type.Optional(Type.Array(Type.String())),
    subject: Type.Optional(Type.String()),
    sizeBytes: Type.Integer({ minimum: 0 }),
    door: Type.Optional(Type.String({ description: 'How it came in: http, smtp, mx, or relay for the platform’s own mail' })),
    domainId: Type.String(),
    lastError: Type.Optional(Type.String()),
    createdAt: DateTime,
    sentAt: Type.Optional(DateTime),
    stateAt: DateTime,
  }),
);

const EmailMessageEvent = named(
  'EmailMessageEvent',
  Type.Object({
    kind: oneOf(['sent', 'delivered', 'bounced', 'complained']),
    bounceType: Type.Optional(Type.String({ description: 'hard, soft, block or undetermined' })),
    recipient: Type.Optional(Type.String()),
    detail: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'What the other server said, by which host, over which connection',
      }),
    ),
    occurredAt: DateTime,
  }),
);

/** An attempt that decided nothing. It is no event of the specification, whose kinds are closed. */
const EmailDeferral = named(
  'EmailDeferral',
  Type.Object({
    recipient: Type.Optional(Type.String()),
    detail: Type.Optional(
      Type.Unsafe<Record<string, unknown>>({
        type: 'object',
        additionalProperties: true,
        description: 'What the other server said, by which host, over which connection',
      }),
    ),
    occurredAt: DateTime,
  }),
);

const EmailRecipient = named(
  'EmailRecipient',
  Type.Object({
    address: Type.String(),
    state: Type.String({ description: 'queued, sending, deferred; in the end sent, delivered, bounced, complained, suppressed or failed' }),
    stateAt: DateTime,
    deferrals: Type.Integer({ minimum: 0, description: 'How often another server has put it off' }),
    lastError: Type.Optional(Type.String({ description: 'The other server and its words' })),
    nextAttemptAt: Type.Optional(DateTime),
  }),
);

const EmailSettings = named(
  'EmailSettings',
  Type.Object({
    dailyQuota: Type.Integer({ minimum: 0, description: 'Recipients a day, counted from midnight UTC' }),
    paused: Type.Boolean({ description: 'While paused nothing new is accepted; what is queued waits' }),
    pausedAt: Type.Optional(DateTime),
    pauseReason: Type.Optional(Type.String()),
    bouncePausePct: Type.Optional(Type.Number({ description: 'Share of hard bounces, in percent over 7 days, that pauses sending' })),
    complaintPausePct: Type.Optional(Type.Number({ description: 'Share of complaints, in percent over 7 days, that pauses sending' })),
    acceptedToday: Type.Optional(Type.Integer({ minimum: 0, description: 'Recipients accepted since midnight UTC' })),
    warning: Type.Optional(Type.String({ description: 'Why sending comes near to being paused; absent while it does not' })),
    submission: Type.Optional(
      Type.Object(
        {
          host: Type.String({ description: 'The name in the certificate, or a loopback address where the server listens on nothing else' }),
          port: Type.Integer({ description: 'With STARTTLS' }),
          tlsPort: Type.Integer({ description: 'With TLS from the first byte' }),
        },
        { description: 'Where programs hand in mail by SMTP; always present' },
      ),
    ),
  }),
);

const recipients = (description: string) => Type.Integer({ minimum: 0, description });

const EmailStats = named(
  'EmailStats',
  Type.Object({
    from: Type.String({ description: 'The first day, YYYY-MM-DD' }),
    to: Type.String({ description: 'The last day, YYYY-MM-DD' }),
    countedFrom: Type.String({ format: 'date-time', description: 'Outcomes before this time were not recorded by day' }),
    days: Type.Array(
      Type.Object({
        date: Type.String({ description: 'A day in UTC, YYYY-MM-DD' }),
        sent: recipients('For whom another server gave a final answer, delivered or bounced'),
        delivered: recipients('Accepted by the server of the recipient'),
        bounced: recipients('Refused for good, returned by a report, or given up after three days'),
        hardBounced: recipients('Of the bounced: the address does not exist'),
        complained: recipients('Who called it spam'),
        suppressed: recipients('Not sent, because the address is on the suppression list'),
      }),
    ),
    pause: Type.Optional(
      Type.Object(
        {
          paused: Type.Boolean(),
          recipients: recipients('Of whom it is known what became of their mail'),
          hardBounces: recipients('Hard bounces among them'),
          complaints: recipients('Complaints of verified reporters among them'),
          bouncePct: Type.Number({ description: 'In percent' }),
          bouncePausePct: Type.Number({ description: 'Sending is paused at this share' }),
          complaintPct: Type.Number({ description: 'In percent' }),
          complaintPausePct: Type.Number({ description: 'Sending is paused at this share' }),
          warning: Type.Optional(Type.String({ description: 'Present when sending comes near to being paused' })),
        },
        {
          description:
            'Of the whole organization over 7 days, or since the operator resumed sending. Absent for a caller who is narrowed to domains',
        },
      ),
    ),
  }),
);

export const messageOps = {
  listMessages: op({
    method: 'GET',
    path: '/email/messages',
    summary: 'Search the message log',
    description: 'The last 90 days, newest first, 50 a page. Pass the cursor back, with the same filters, for the next page.',
    permission: 'email.message.read',
    scoped: true,
    entitlement: 'email',
    query: input({
      direction: Type.Optional(direction),
      state: Type.Optional(Type.String({ minLength: 1, maxLength: 20 })),
      domainId: Type.Optional(Id('Only of this domain')),
      to: Type.Optional(Type.String({ minLength: 1, maxLength: 320, description: 'An exact address, in any case, among the recipients' })),
      since: Type.Optional(DateTimeInput),
      cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'From the previous answer; opaque' })),
    }),
    responses: { 200: Type.Object({ messages: Type.Array(EmailMessage), cursor: nextCursor }) },
    errors: { 400: 'a filter is invalid, or the cursor belongs to other filters' },
  }),
  getMessage: op({
    method: 'GET',
    path: '/email/messages/{id}',
    summary: 'One message and what happened to it',
    description:
      'The deferrals and events of a recipient are its attempts, each with the words of the other server in `detail`: `response`, `code`, `mx`, `ip` and `tls`.',
    permission: 'email.message.read',
    scoped: true,
    entitlement: 'email',
    responses: {
      200: Type.Object({
        message: EmailMessage,
        events: Type.Array(EmailMessageEvent, { description: 'Oldest first; the first 1,000' }),
        deferrals: Type.Optional(
          Type.Array(EmailDeferral, {
            description:
              'Attempts that another server put off, or that reached none, oldest first; of those that reach none in a row with one reason, the first; always present',
          }),
        ),
        recipients: Type.Optional(
          Type.Array(EmailRecipient, { description: 'The first 1,000; empty for a received message; always present' }),
        ),
      }),
    },
  }),
  getMessageContent: op({
    method: 'GET',
    path: '/email/messages/{id}/content',
    summary: 'The raw message',
    description: 'Kept for 30 days; streamed.',
    permission: 'email.message.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: Type.Unsafe<AsyncIterable<Uint8Array>>({ type: 'string' }) },
    produces: 'message/rfc822',
    errors: { 404: 'unknown message, or its content is past its retention window' },
  }),
  cancelMessage: op({
    method: 'POST',
    path: '/email/messages/{id}/cancel',
    summary: 'Cancel a scheduled message',
    description:
      'With a send key that may send for its domain. Nothing of it is sent; the log shows it as failed. Once more changes nothing.',
    permission: 'none',
    credential: 'mail',
    entitlement: 'email',
    responses: { 200: EmailAccepted },
    errors: { 409: 'its time has come: it is being sent, or was' },
    extension: true,
  }),
  getEmailStats: op({
    method: 'GET',
    path: '/email/stats',
    summary: 'Outcomes by day, against the pause limits',
    description:
      'Recipients by the day of UTC on which their outcome was learnt, every day from `from` to `to`: by default the last 30, at most 400. One that is delivered and complains later counts in both. The addresses of the simulator count nowhere.',
    permission: 'email.message.read',
    scoped: true,
    entitlement: 'email',
    query: input({
      from: Type.Optional(DateTimeInput),
      to: Type.Optional(DateTimeInput),
      domainId: Type.Optional(Id('Only of this domain')),
    }),
    responses: { 200: EmailStats },
    errors: { 400: '`to` is before `from`, the two are more than 400 days apart, or a time is invalid or not in the years 2000 to 2099' },
    extension: true,
  }),
  getEmailSettings: op({
    method: 'GET',
    path: '/email/settings',
    summary: 'Quota and sending posture',
    description: 'Read-only: the operator of this server raises quotas and lifts a pause.',
    permission: 'email.message.read',
    entitlement: 'email',
    responses: { 200: EmailSettings },
  }),
};
