import type { emailEventTypes } from '../../../../contract/email/webhooks.ts';
import type { ToldMessageRow } from '../store/webhook-events.ts';

export type EventType = (typeof emailEventTypes)[number];

/** The body of every attempt, in its very bytes. */
export const eventPayload = (
  type: EventType,
  timestamp: string,
  message: ToldMessageRow | undefined,
  data: Record<string, unknown>,
): string => JSON.stringify({ type, timestamp, data: { ...(message ? messageData(message) : {}), ...data } });

/** `state` is the message's, as the log shows it: with several recipients, one may be done while it is not. */
const messageData = (m: ToldMessageRow) => ({
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
