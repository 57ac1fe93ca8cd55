import { entitlementsOf } from '../../../../../identity/store/organizations.ts';
import type { Tx } from '../../../../../kernel/db/index.ts';
import { type ClaimedRow, findRevoked, findSuppressed, type SendingMessageRow } from '../../store/queue.ts';
import type { SendRefusal } from './types.ts';

/**
 * Scheduled mail was checked at submission, up to 30 days ago. It is checked again when it falls due: meanwhile the recipient may have been
 * suppressed, the organization may have lost email, or the key may have been revoked.
 */
export async function recheckScheduled(
  tx: Tx,
  claimed: readonly ClaimedRow[],
  messages: readonly SendingMessageRow[],
): Promise<ReadonlyMap<number, SendRefusal>> {
  const scheduled = new Set(messages.flatMap((m) => (m.is_scheduled ? [m.id] : [])));
  const due = claimed.filter((c) => c.tries === 0 && scheduled.has(c.message_id));
  const refusals = new Map<number, SendRefusal>();
  if (due.length === 0) return refusals;
  const [revoked, suppressed] = await Promise.all([
    findRevoked(tx, [...scheduled]),
    findSuppressed(
      tx,
      due.map(({ id }) => id),
    ),
  ]);
  const entitled = new Map<string, boolean>();
  for (const org of new Set(due.map(({ org_id }) => org_id)))
    entitled.set(org, (await entitlementsOf(tx, org))?.includes('email') ?? false);
  for (const { id, org_id, message_id } of due) {
    if (!entitled.get(org_id))
      refusals.set(id, { state: 'failed', reason: 'email was not enabled for the organization any more when its time came' });
    else if (revoked.has(message_id))
      refusals.set(id, { state: 'failed', reason: 'the send key that it was handed in with was revoked before its time' });
    else if (suppressed.has(id)) refusals.set(id, { state: 'suppressed', reason: 'the address was suppressed before its time' });
  }
  return refusals;
}
