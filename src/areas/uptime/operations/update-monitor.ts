import type { Body } from '../../../../contract/common.ts';
import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import type { Tx } from '../../../kernel/db.ts';
import { invalid, unavailable } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/index.ts';
import { checkInterval, checkTarget, checkVantages, fillIn } from '../admissible.ts';
import * as lifecycle from '../engine/lifecycle.ts';
import { findService, lockMonitor } from '../find-monitor.ts';
import { consequences } from '../rules/edit.ts';
import { hasMask, mask, shownTarget, type Target } from '../rules/hidden.ts';
import { quorumComplaint, shapeComplaint, targetOf, timeoutComplaint } from '../rules/target.ts';
import { openedTarget, sealTarget } from '../sealed-target.ts';
import { type MonitorRow, nextRevision } from '../store/monitor-row.ts';
import * as store from '../store/monitors.ts';
import { lockWindows } from '../store/windows.ts';
import { monitorView } from '../view.ts';

type Edit = Body<typeof uptime.updateMonitor>;
/** With everything that is sent with its checks; undefined where that cannot be opened. */
type Whole = Omit<MonitorRow, 'target'> & { target: Target | undefined };

export const updateMonitor = operation(uptime.updateMonitor, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const { org } = ctx;
    const { sealed, ...found } = await lockMonitor(tx, ctx, params.id);
    const before: Whole = { ...found, target: openedTarget(ctx.app.secrets, { ...found, sealed }) };
    const wanted = await edited(tx, ctx, before, body);
    const { revised, startsOver, rejudged, stops } = consequences(before, wanted);
    if (Object.keys(body).length) {
      if (wanted.service_id !== null && wanted.service_id !== before.service_id) await lockWindows(tx, org, wanted.service_id);
      const after = await store.updateMonitor(tx, org, {
        ...wanted,
        target: shownTarget(wanted.target ?? found.target),
        ...(wanted.target ? { sealed: sealTarget(ctx.app.secrets, before.id, wanted.target) } : {}),
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
    return ok(monitorView(ctx, (await store.monitorById(tx, org, before.id))!));
  }),
);

/** The monitor as it would be, once everything about it holds. */
async function edited(tx: Tx, ctx: Ctx, before: Whole, body: Edit): Promise<Whole> {
  const { http, tcp, serviceId } = body;
  const given = http || tcp ? { ...(http ? { http } : {}), ...(tcp ? { tcp } : {}) } : undefined;
  const misshapen = given && shapeComplaint(before.kind, given);
  if (misshapen) invalid(misshapen);
  if (given && !before.target && hasMask(given))
    unavailable(
      `what is stored for ${mask} cannot be opened at the moment; send every value, or ask the operator whether secret.key is whole`,
    );
  const target = given && fillIn(given, before.target);
  if (body.intervalSeconds !== undefined) checkInterval(ctx.app, body.intervalSeconds);
  if (body.vantages) await checkVantages(tx, body.vantages);

  const after: Whole = {
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
