import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { judgeAlerts } from '../engine/read-delivery.ts';
import { noteUnreadable, receiveDelivery } from '../engine/receive-delivery.ts';
import type { OpenOncall } from '../open.ts';
import { fromAlertmanager } from '../rules/alerts.ts';

export const receiveAlerts = operation(
  oncall.receiveAlerts,
  async ({ ctx, params, body }, { inTurn }: OpenOncall) =>
    ok(
      await receiveDelivery(ctx, inTurn, params.id, {
        judge: () => judgeAlerts((body as { alerts?: unknown } | undefined)?.alerts, 'alerts'),
        read: ({ alerts, left }, now, silentAt) => fromAlertmanager(body, alerts, left, now, silentAt),
      }),
    ),
  { unreadable: noteUnreadable },
);
