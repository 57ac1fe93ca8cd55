import { email } from '../../../../../contract/email.ts';
import type { Ctx } from '../../../../identity/context.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { notFound } from '../../../../kernel/errors.ts';
import { type DeliveryDetailRow, findDelivery } from '../store/deliveries.ts';
import { deliveryView } from '../views/webhook.ts';

export const getWebhookDelivery = operation(email.getWebhookDelivery, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const found = (await findDelivery(tx, ctx.org, params.id)) ?? notFound('delivery');
    const payload = mayReadPayload(ctx, found) ? found.payload : null;
    return ok({ delivery: deliveryView(found), webhookId: found.event_id, ...(payload === null ? {} : { payload }) });
  }),
);

/** A payload about a message holds its addresses and subject, and of a received one its text: its reader needs the right to read the message. */
function mayReadPayload(ctx: Ctx, { message_id, domain_id }: DeliveryDetailRow): boolean {
  if (message_id === null) return true;
  const held = ctx.reach('email.message.read');
  return held === '*' || (domain_id !== null && held?.has(domain_id) === true);
}
