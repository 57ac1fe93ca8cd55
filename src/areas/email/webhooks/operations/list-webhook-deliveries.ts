import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { invalid } from '../../../../kernel/errors.ts';
import { readCursor, writeCursor } from '../../../../kernel/lists/filtered-cursor.ts';
import { listDeliveryRows } from '../store/deliveries.ts';
import { deliveryView } from '../views/webhook.ts';

export const listWebhookDeliveries = operation(email.listWebhookDeliveries, async ({ ctx, query }) => {
  const { cursor, limit = 100, ...filters } = query;
  const after = cursor === undefined ? null : (readCursor(cursor, filters) ?? '');
  if (after !== null && !/^\d{1,15}$/.test(after)) invalid('the cursor belongs to other filters; start again without it');
  const before = after === null ? null : Number(after);
  const found = await ctx.read((tx) => listDeliveryRows(tx, ctx.org, filters, { before, limit: limit + 1 }));
  const slice = found.slice(0, limit);
  return ok({
    deliveries: slice.map(deliveryView),
    ...(found.length > limit ? { cursor: writeCursor(String(slice.at(-1)!.id), filters) } : {}),
  });
});
