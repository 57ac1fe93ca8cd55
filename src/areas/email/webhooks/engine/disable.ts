import Type from 'typebox';
import { audit, operator } from '../../../../identity/audit.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue, hint, job, RetryIn } from '../../../../kernel/jobs/index.ts';
import * as deliveries from '../store/deliveries.ts';
import { disableWebhook } from '../store/webhooks.ts';

const batchSize = 500;
/** By then an attempt in flight has ended. */
const attemptSeconds = 20;

/** Fails the waiting deliveries of a disabled or deleted endpoint, with the reason. Safe to run twice. */
export const failDeliveries = job(
  'email.fail-deliveries',
  { payload: Type.Object({ org: Type.String(), endpointId: Type.String(), upTo: Type.Integer(), why: Type.String() }) },
  async ({ db, payload: { org, endpointId, upTo, why }, signal }) => {
    for (let failed = batchSize; failed === batchSize; ) {
      signal.throwIfAborted();
      failed = await db.write(async (tx) => {
        hint(tx, org, 'email.webhook', 'email.message');
        const over = await deliveries.failWaiting(tx, org, endpointId, upTo, why, batchSize);
        await deliveries.settleReceived(tx, over);
        return over.length;
      });
    }
    if (await db.read((tx) => deliveries.hasWaiting(tx, org, endpointId, upTo)))
      throw new RetryIn(attemptSeconds, 'an attempt is under way; it is looked at again once that has ended');
  },
);

/** Fails the deliveries that exist now. Later ones, after the endpoint was enabled again, are not touched. */
export async function failWaiting(tx: Tx, org: string, endpointId: string, why: string): Promise<void> {
  const upTo = await deliveries.lastDelivery(tx, org, endpointId);
  if (upTo > 0) await enqueue(tx, failDeliveries, { key: `${endpointId} ${upTo}`, org, payload: { org, endpointId, upTo, why } });
}

/** Disables an endpoint. Its organization sees the reason at the endpoint, at its deliveries and in the audit log. */
export async function disableForFailing(tx: Tx, org: string, id: string, reason: string): Promise<void> {
  if ((await disableWebhook(tx, org, id, reason)) === 0) return;
  await audit(tx, operator(org), 'email.webhook.disable', { id }, { reason });
  await failWaiting(tx, org, id, `the endpoint is disabled: ${reason}`);
}
