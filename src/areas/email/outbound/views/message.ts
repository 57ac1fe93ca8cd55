import type { EventRow, MessageRow } from '../store/messages.ts';

export const messageView = (m: MessageRow) => ({
  id: m.id,
  direction: m.direction,
  state: m.state,
  from: m.sender,
  to: m.recipients,
  ...(m.copies.length ? { cc: m.copies } : {}),
  ...(m.subject === null ? {} : { subject: m.subject }),
  sizeBytes: m.body_bytes,
  door: m.door,
  domainId: m.domain_id,
  ...(m.last_error === null ? {} : { lastError: m.last_error }),
  createdAt: m.created_at,
  ...(m.sent_at === null ? {} : { sentAt: m.sent_at }),
  stateAt: m.state_at,
});

export const eventView = (e: EventRow) => ({
  kind: e.kind,
  ...(e.bounce_type === null ? {} : { bounceType: e.bounce_type }),
  ...(e.recipient === null ? {} : { recipient: e.recipient }),
  ...(e.detail === null ? {} : { detail: e.detail }),
  occurredAt: e.occurred_at,
});
