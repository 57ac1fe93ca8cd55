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
    permission: 'email.message.read',
    scoped: true,
    entitlement: 'email',
    responses: { 200: Type.Object({ message: EmailMessage, events: Type.Array(EmailMessageEvent) }) },
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
