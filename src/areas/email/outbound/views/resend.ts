import { canceled } from '../rules/canceled.ts';
import type { SentRow } from '../store/sent.ts';

/** Resend's names where they differ from our states. */
const lastEvents: Record<string, string> = { sending: 'queued', deferred: 'delivery_delayed' };

const lastEventOf = ({ state, is_ahead, last_error }: SentRow): string => {
  if (last_error === canceled) return 'canceled';
  if (state === 'queued' && is_ahead) return 'scheduled';
  return lastEvents[state] ?? state;
};

/** A message in Resend's format. Content is only at /email/messages/{id}/content, for people who may read mail. */
export const resendView = (message: SentRow) => ({
  object: 'email',
  id: message.id,
  from: message.sender,
  to: message.recipients,
  cc: message.copies.length ? message.copies : null,
  bcc: null,
  reply_to: null,
  subject: message.subject ?? '',
  html: null,
  text: null,
  created_at: message.created_at,
  scheduled_at: message.scheduled_at,
  last_event: lastEventOf(message),
  message_id: message.message_id,
});
