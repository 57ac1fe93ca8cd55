import type { Body } from '../../../../contract/common.ts';
import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { invalid, unavailable } from '../../../kernel/errors.ts';
import { checkInterval, checkTarget, checkVantages, fillIn } from '../engine/check-monitor.ts';
import { findService, lockMonitor } from '../engine/find-monitor.ts';
import { changeMonitor, openMonitor, type WholeMonitor } from '../engine/monitors.ts';
import { hasMask, mask } from '../rules/masked-target.ts';
import { quorumComplaint, shapeComplaint, targetOf, timeoutComplaint } from '../rules/target.ts';
import { monitorById } from '../store/monitors.ts';
import { monitorView } from '../views/monitor.ts';

type Edit = Body<typeof uptime.updateMonitor>;

export const updateMonitor = operation(uptime.updateMonitor, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const { secrets } = ctx.app;
    const locked = await lockMonitor(tx, ctx, params.id);
    const wanted = await edited(tx, ctx, openMonitor(secrets, locked), body);
    if (Object.keys(body).length) {
      const after = await changeMonitor(tx, secrets, locked, wanted);
      // Headers and bodies of checks may be secrets: the audit row names the changed fields only.
      await audit(tx, ctx, 'uptime.monitor.update', after, { name: after.name, changed: Object.keys(body) });
    }
    return ok(monitorView(ctx, (await monitorById(tx, ctx.org, locked.id))!));
  }),
);

/** The monitor as edited, after all checks of the request passed. */
async function edited(tx: Tx, ctx: Ctx, before: WholeMonitor, body: Edit): Promise<WholeMonitor> {
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

  const after: WholeMonitor = {
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
