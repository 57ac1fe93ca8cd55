import { audit } from '../../../../identity/audit.ts';
import type { Principal } from '../../../../identity/principal.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../../kernel/errors.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { failMessages, failRecipients } from '../../domains/store/domain-mail.ts';
import { emitEvents } from '../../webhooks/engine/emit-events.ts';
import { failedEventsOf } from '../../webhooks/engine/failed-events.ts';
import { canceled } from '../rules/canceled.ts';
import { lockSent, type SentRow } from '../store/sent.ts';
import { accessOf } from './sender-authorization.ts';

/** Cancels a scheduled message. None of it was sent: its recipients are claimed only when it falls due. */
export async function cancelMessage(tx: Tx, principal: Principal, id: string, requestId?: string): Promise<SentRow> {
  const org = principal.org.id;
  const message = requireReach(principal, await lockSent(tx, org, id));
  if (message.last_error === canceled) return message;
  if (message.state !== 'queued' || !message.is_ahead)
    conflict('the message does not wait for its time any more; only one that is scheduled can be canceled');
  hint(tx, org, 'email.message');
  const failed = await failRecipients(tx, org, [id], canceled);
  await failMessages(tx, org, [id], canceled);
  await emitEvents(tx, failedEventsOf(org, failed, canceled));
  const { name } = accessOf(principal);
  const actor = { org, user: { id: principal.id, email: `send key ${name}` }, principal, ...(requestId ? { requestId } : {}) };
  await audit(tx, actor, 'email.message.cancel', message);
  return { ...message, state: 'failed', last_error: canceled };
}

/** 404 for a key that is limited to other domains. */
export function requireReach(principal: Principal, message: SentRow | undefined): SentRow {
  const { domainIds } = accessOf(principal);
  return message && (!domainIds.length || domainIds.includes(message.domain_id)) ? message : notFound('message');
}
