import type { emailEventTypes } from '../../../../../contract/email/webhooks.ts';
import type { EventMessageRow } from '../store/webhook-events.ts';

export type EventType = (typeof emailEventTypes)[number];

/** The exact body that every attempt sends. */
export const eventPayload = (
  type: EventType,
  timestamp: string,
  message: EventMessageRow | undefined,
  data: Record<string, unknown>,
): string => JSON.stringify({ type, timestamp, data: { ...(message ? messageData(message) : {}), ...data } });

/** `state` belongs to the whole message, so it may be unfinished when one recipient is done. */
const messageData = (m: EventMessageRow) => ({
  messageId: m.id,
  domainId: m.domain_id,
  direction: m.direction,
  from: m.sender,
  to: m.recipients,
  ...(m.copies.length ? { cc: m.copies } : {}),
  ...(m.subject === null ? {} : { subject: m.subject }),
  ...(m.tags === null ? {} : { tags: m.tags }),
  state: m.state,
});
