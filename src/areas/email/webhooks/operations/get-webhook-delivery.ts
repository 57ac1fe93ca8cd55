import { email } from '../../../../../contract/email.ts';
import type { Ctx } from '../../../../identity/context.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { notFound } from '../../../../kernel/errors.ts';
import type { Visible } from '../../../../kernel/sql.ts';
import { type DeliveryDetailRow, findDelivery } from '../store/deliveries.ts';
import { deliveryView } from '../views/webhook.ts';

export const getWebhookDelivery = operation(email.getWebhookDelivery, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const found = (await findDelivery(tx, ctx.org, params.id)) ?? notFound('delivery');
    const payload = mayReadPayload(ctx, found) ? found.payload : null;
    return ok({ delivery: deliveryView(found), webhookId: found.event_id, ...(payload === null ? {} : { payload }) });
  }),
);

/**
 * A payload holds what the event is about: addresses, a subject, the text of received mail. Its reader needs the right to read that. An event
 * of a kind that is not known here shows nothing.
 */
function mayReadPayload(ctx: Ctx, { event_type, message_id, domain_id, payload }: DeliveryDetailRow): boolean {
  const [about] = event_type.split('.', 1);
  if (message_id !== null) return covers(ctx.reach('email.message.read'), domain_id);
  if (about === 'suppression') return ctx.reach('email.suppression.read') === '*';
  if (about === 'domain') return covers(ctx.reach('email.domain.read'), domainOf(payload));
  return about === 'sending' && ctx.reach('email.message.read') === '*';
}

const covers = (held: Visible | undefined, domain: string | null): boolean =>
  held === '*' || (domain !== null && held?.has(domain) === true);

/** The payload is our own: `domain.updated` names its domain. */
const domainOf = (payload: string | null): string | null =>
  payload === null ? null : ((JSON.parse(payload) as { data: { domainId?: string } }).data.domainId ?? null);
