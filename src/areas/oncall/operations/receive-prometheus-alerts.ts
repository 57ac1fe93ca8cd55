import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { judgeAlerts } from '../engine/read-delivery.ts';
import { noteUnreadable, receiveDelivery } from '../engine/receive-delivery.ts';
import type { OpenOncall } from '../open.ts';
import { fromPrometheus } from '../rules/alerts.ts';

export const receivePrometheusAlerts = operation(
  oncall.receivePrometheusAlerts,
  async ({ ctx, params, body }, { inTurn }: OpenOncall) =>
    ok(
      await receiveDelivery(ctx, inTurn, params.id, {
        judge: () => judgeAlerts(body, ''),
        read: ({ alerts, left }, now) => fromPrometheus(alerts, left, now),
      }),
    ),
  { unreadable: noteUnreadable },
);
