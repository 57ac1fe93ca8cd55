import Type from 'typebox';
import { audit, operator } from '../../../../identity/audit.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue, job, RetryIn } from '../../../../kernel/jobs/index.ts';
import * as deliveries from '../../store/deliveries.ts';
import { settleReceived } from '../../store/receiving/arrivals.ts';
import { disableWebhook } from '../../store/webhooks.ts';

const batchSize = 500;
/** By then an attempt that was under way has ended. */
const attemptSeconds = 20;

/** What waits for an endpoint that is not told any more, with the reason. Safe to run twice: what failed is found no more. */
export const failDeliveries = job(
  'email.fail-deliveries',
  { payload: Type.Object({ org: Type.String(), endpointId: Type.String(), upTo: Type.Integer(), why: Type.String() }) },
  async ({ db, payload: { org, endpointId, upTo, why }, signal }) => {
    for (let failed = batchSize; failed === batchSize; ) {
      signal.throwIfAborted();
      failed = await db.write(async (tx) => {
        const over = await deliveries.failWaiting(tx, org, endpointId, upTo, why, batchSize);
        await settleReceived(tx, over);
        return over.length;
      });
    }
    if (await db.read((tx) => deliveries.hasWaiting(tx, org, endpointId, upTo)))
      throw new RetryIn(attemptSeconds, 'an attempt is under way; it is looked at again once that has ended');
  },
);

/** Everything that waits now; what is made later, after somebody enabled it again, is not touched. */
export async function failWaiting(tx: Tx, org: string, endpointId: string, why: string): Promise<void> {
  const upTo = await deliveries.lastDelivery(tx, org, endpointId);
  if (upTo > 0) await enqueue(tx, failDeliveries, { key: `${endpointId} ${upTo}`, org, payload: { org, endpointId, upTo, why } });
}

/** Nobody is there any more. Its organization sees why at the endpoint, at its deliveries, and in the audit log. */
export async function disableForFailing(tx: Tx, org: string, id: string, reason: string): Promise<void> {
  if ((await disableWebhook(tx, org, id, reason)) === 0) return;
  await audit(tx, operator(org), 'email.webhook.disable', { id }, { reason });
  await failWaiting(tx, org, id, `the endpoint is disabled: ${reason}`);
}
