import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { receiveDelivery, recordUnreadable } from '../engine/receive-delivery.ts';
import { validateAlerts } from '../engine/validate-delivery.ts';
import type { OpenOncall } from '../open.ts';
import { fromPrometheus } from '../rules/alerts.ts';

export const receivePrometheusAlerts = operation(
  oncall.receivePrometheusAlerts,
  async ({ ctx, params, body }, { deliveryQueue }: OpenOncall) =>
    ok(
      await receiveDelivery(ctx, deliveryQueue, params.id, {
        validate: () => validateAlerts(body, ''),
        read: ({ alerts, omitted }, now) => fromPrometheus(alerts, omitted, now),
      }),
    ),
  { unreadable: recordUnreadable },
);
