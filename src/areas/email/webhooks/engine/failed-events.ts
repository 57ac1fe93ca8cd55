import type { WebhookEvent } from './emit-events.ts';

/** Events for recipients whose mail failed for a local reason. */
export const failedEventsOf = (org: string, failed: readonly { message_id: string; address: string }[], reason: string): WebhookEvent[] =>
  failed.map(({ message_id, address }) => ({ org, messageId: message_id, type: 'email.failed', data: { recipient: address, reason } }));
