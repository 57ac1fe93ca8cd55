import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { receiveDelivery, recordUnreadable } from '../engine/receive-delivery.ts';
import { validateAlerts } from '../engine/validate-delivery.ts';
import type { OpenOncall } from '../open.ts';
import { fromAlertmanager } from '../rules/alerts.ts';

export const receiveAlerts = operation(
  oncall.receiveAlerts,
  async ({ ctx, params, body }, { deliveryQueue }: OpenOncall) =>
    ok(
      await receiveDelivery(ctx, deliveryQueue, params.id, {
        validate: () => validateAlerts((body as { alerts?: unknown } | undefined)?.alerts, 'alerts'),
        read: ({ alerts, omitted }, now, staleAt) => fromAlertmanager(body, alerts, omitted, now, staleAt),
      }),
    ),
  { unreadable: recordUnreadable },
);
