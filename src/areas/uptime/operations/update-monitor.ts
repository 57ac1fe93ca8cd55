import type { Body } from '../../../../contract/common.ts';
import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import type { Tx } from '../../../kernel/db.ts';
import { invalid } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/index.ts';
import { checkInterval, checkTarget, checkVantages } from '../admissible.ts';
import * as lifecycle from '../engine/lifecycle.ts';
import { findService, lockMonitor } from '../find-monitor.ts';
import { consequences } from '../rules/edit.ts';
import { quorumComplaint, shapeComplaint, targetOf, timeoutComplaint } from '../rules/target.ts';
import { type MonitorRow, nextRevision } from '../store/monitor-row.ts';
import * as store from '../store/monitors.ts';
import { lockWindows } from '../store/windows.ts';
import { monitorView } from '../view.ts';

type Edit = Body<typeof uptime.updateMonitor>;

export const updateMonitor = operation(uptime.updateMonitor, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const { org } = ctx;
    const before = await lockMonitor(tx, ctx, params.id);
    const wanted = await edited(tx, ctx, before, body);
    const { revised, startsOver, rejudged, stops } = consequences(before, wanted);
    if (Object.keys(body).length) {
      if (wanted.service_id !== null && wanted.service_id !== before.service_id) await lockWindows(tx, org, wanted.service_id);
      const after = await store.updateMonitor(tx, org, {
        ...wanted,
        epoch: before.epoch + (startsOver ? 1 : 0),
        revision: revised ? await nextRevision(tx) : before.revision,
      });
      if (stops) await lifecycle.stopWatching(tx, after, 'paused');
      else if (startsOver && after.enabled) await lifecycle.startOver(tx, after);
      else if (rejudged) await lifecycle.rejudge(tx, after);
      // Last: an alert that ended above does not fire at its new service first.
      if (after.service_id !== before.service_id) {
        await lifecycle.moved(tx, after, before.service_id);
        await publicChanged(tx, org);
      }
      // Headers and bodies of checks may be secrets: only what was touched is told.
      await audit(tx, ctx, 'uptime.monitor.update', after, { name: after.name, changed: Object.keys(body) });
    }
    return ok(monitorView((await store.monitorById(tx, org, before.id))!));
  }),
);

/** The monitor as it would be, once everything about it holds. */
async function edited(tx: Tx, ctx: Ctx, before: MonitorRow, body: Edit): Promise<MonitorRow> {
  const { http, tcp, serviceId } = body;
  const target = http || tcp ? { ...(http ? { http } : {}), ...(tcp ? { tcp } : {}) } : undefined;
  const misshapen = target && shapeComplaint(before.kind, target);
  if (misshapen) invalid(misshapen);
  if (body.intervalSeconds !== undefined) checkInterval(ctx.app, body.intervalSeconds);
  if (body.vantages) await checkVantages(tx, body.vantages);

  const after: MonitorRow = {
    ...before,
    name: body.name ?? before.name,
    enabled: body.enabled ?? before.enabled,
    interval_seconds: body.intervalSeconds ?? before.interval_seconds,
    timeout_ms: body.timeoutMs ?? before.timeout_ms,
    vantages: body.vantages ?? before.vantages,
    confirmations: body.downCondition?.confirmations ?? before.confirmations,
    quorum: body.downCondition?.quorum ?? before.quorum,
    target: target ? targetOf(target) : before.target,
  };
  const complaint = timeoutComplaint({ intervalSeconds: after.interval_seconds, timeoutMs: after.timeout_ms }) ?? quorumComplaint(after);
  if (complaint) invalid(complaint);
  if (target) checkTarget(ctx.app, target);
  if (serviceId === undefined || serviceId === before.service_id) return after;
  return { ...after, service_id: serviceId === null ? null : (await findService(tx, ctx, serviceId, 'service in serviceId')).id };
}
