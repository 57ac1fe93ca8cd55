import Type from 'typebox';
import { DateTime, Id, input, named, nextCursor, oneOf, op, page } from '../common.ts';

export const emailEventTypes = [
  'email.sent',
  'email.delivered',
  'email.delivery_delayed',
  'email.bounced',
  'email.complained',
  'email.failed',
  'email.suppressed',
  'email.received',
  'domain.updated',
  'suppression.created',
  'suppression.deleted',
  'sending.paused',
  'sending.resumed',
] as const;

const EmailWebhook = named(
  'EmailWebhook',
  Type.Object({
    id: Type.String(),
    url: Type.String(),
    eventTypes: Type.Array(Type.String()),
    disabled: Type.Boolean(),
    disabledReason: Type.Optional(Type.String({ description: 'Why, while it is disabled: by hand, or what it answered' })),
    createdAt: DateTime,
  }),
);

const EmailDelivery = named(
  'EmailDelivery',
  Type.Object({
    id: Type.Integer(),
    endpointId: Type.String(),
    eventType: Type.String(),
    messageId: Type.Optional(Type.String()),
    state: oneOf(['pending', 'delivering', 'delivered', 'failed']),
    attempts: Type.Integer({ minimum: 0, description: 'Of at most 10, over about three days' }),
    lastStatus: Type.Optional(Type.Integer({ description: 'The HTTP status of the last attempt that got one' })),
    lastError: Type.Optional(Type.String()),
    deliveredAt: Type.Optional(DateTime),
    createdAt: DateTime,
  }),
);

const url = Type.String({ format: 'uri', maxLength: 2048, description: 'http or https; addresses in private ranges are refused' });
const eventTypes = Type.Array(oneOf(emailEventTypes), { minItems: 1, maxItems: emailEventTypes.length, uniqueItems: true });
const signingSecret = Type.String({ description: '`whsec_…`, for verifying signatures by Standard Webhooks 1.0' });
/** Unlike other lists, one page is short unless asked otherwise: each delivery is of interest for a few hours only. */
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: 'At most this many; 100 by default' }));

export const webhookOps = {
  listWebhooks: op({
    method: 'GET',
    path: '/email/webhooks',
    summary: 'List webhook endpoints',
    permission: 'email.webhook.read',
    entitlement: 'email',
    responses: { 200: Type.Object({ webhooks: Type.Array(EmailWebhook) }) },
  }),
  createWebhook: op({
    method: 'POST',
    path: '/email/webhooks',
    summary: 'Create a webhook endpoint',
    description: 'Payloads are signed as Standard Webhooks 1.0 says. The signing secret is returned only here and on rotation.',
    permission: 'email.webhook.write',
    entitlement: 'email',
    body: input({ url, eventTypes }),
    responses: { 201: Type.Object({ webhook: EmailWebhook, signingSecret }) },
    errors: { 400: 'an unknown event type, or an address that must not be called' },
    codes: { 403: ['quota_reached'] },
    secret: true,
  }),
  updateWebhook: op({
    method: 'PATCH',
    path: '/email/webhooks/{id}',
    summary: 'Change, disable or enable a webhook endpoint',
    description: 'Disabling fails the deliveries that still wait; redeliver them afterwards if they matter.',
    permission: 'email.webhook.write',
    entitlement: 'email',
    body: input({ url: Type.Optional(url), eventTypes: Type.Optional(eventTypes), disabled: Type.Optional(Type.Boolean()) }),
    responses: { 200: EmailWebhook },
    errors: { 400: 'an unknown event type, or an address that must not be called' },
  }),
  deleteWebhook: op({
    method: 'DELETE',
    path: '/email/webhooks/{id}',
    summary: 'Delete a webhook endpoint',
    permission: 'email.webhook.write',
    entitlement: 'email',
    responses: { 204: null },
    errors: { 409: 'an inbound route still targets the endpoint; the sentence names it' },
  }),
  rotateWebhookSecret: op({
    method: 'POST',
    path: '/email/webhooks/{id}/rotate-secret',
    summary: 'Rotate a signing secret',
    description: 'The old one stops signing immediately.',
    permission: 'email.webhook.write',
    entitlement: 'email',
    responses: { 200: Type.Object({ signingSecret }) },
    secret: true,
  }),
  listWebhookDeliveries: op({
    method: 'GET',
    path: '/email/webhook-deliveries',
    summary: 'Recent deliveries',
    description: 'Newest first.',
    permission: 'email.webhook.read',
    entitlement: 'email',
    query: input({
      messageId: Type.Optional(Id('Only about this message')),
      endpointId: Type.Optional(Id('Only to this endpoint')),
      limit,
      cursor: page.cursor,
    }),
    responses: { 200: Type.Object({ deliveries: Type.Array(EmailDelivery), cursor: nextCursor }) },
  }),
  getWebhookDelivery: op({
    method: 'GET',
    path: '/email/webhook-deliveries/{id}',
    summary: 'One delivery with its payload',
    description: 'The payload is what every attempt sends, byte by byte.',
    permission: 'email.webhook.read',
    entitlement: 'email',
    params: Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) }),
    responses: {
      200: Type.Object({
        delivery: EmailDelivery,
        webhookId: Type.String({ description: 'The header `webhook-id`, the same in every attempt' }),
        payload: Type.Optional(
          Type.String({
            description: 'Absent where it tells of a message, domain or suppression that the caller may not read, or is past its time',
          }),
        ),
      }),
    },
    errors: { 404: 'unknown, older than 30 days, or not of this organization' },
    extension: true,
  }),
  redeliverWebhook: op({
    method: 'POST',
    path: '/email/webhook-deliveries/{id}/redeliver',
    summary: 'Deliver again',
    description: 'Queues a new delivery of the same payload, to the endpoint’s present address and signed with its present secret.',
    permission: 'email.webhook.write',
    entitlement: 'email',
    params: Type.Object({ id: Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }) }),
    responses: { 202: Type.Object({ id: Type.Integer() }) },
  }),
};
