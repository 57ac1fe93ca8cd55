import type { EventRow, MessageRow, RecipientRow } from '../store/messages.ts';

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

export const recipientView = (r: RecipientRow) => ({
  address: r.address,
  state: r.state,
  stateAt: r.state_at,
  deferrals: r.tries,
  ...(r.last_error === null ? {} : { lastError: r.last_error }),
  ...(r.next_at === null ? {} : { nextAttemptAt: r.next_at }),
});

/** Undefined: an attempt that decided nothing, which is shown apart. */
export function eventView(e: EventRow) {
  if (e.kind === 'deferred') return undefined;
  return { kind: e.kind, ...(e.bounce_type === null ? {} : { bounceType: e.bounce_type }), ...attemptView(e) };
}

export const deferralView = (e: EventRow) => (e.kind === 'deferred' ? attemptView(e) : undefined);

const attemptView = (e: EventRow) => ({
  ...(e.recipient === null ? {} : { recipient: e.recipient }),
  ...(e.detail === null ? {} : { detail: e.detail }),
  occurredAt: e.occurred_at,
});
