import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { checkInterval, checkTarget, checkVantages, fillIn } from '../engine/check-monitor.ts';
import { findService } from '../engine/find-monitor.ts';
import { checkQuota, makeMonitor } from '../engine/monitors.ts';
import { majority, quorumComplaint, shapeComplaint, targetOf, timeoutComplaint } from '../rules/target.ts';
import { monitorById } from '../store/monitors.ts';
import { monitorView } from '../views/monitor.ts';

/** Refused in the order that the specification gives: shape, quota, interval, vantages, target. */
export const createMonitor = operation(uptime.createMonitor, async ({ ctx, body }) => {
  const { app, org } = ctx;
  const misshapen = shapeComplaint(body.kind, body);
  if (misshapen) invalid(misshapen);
  const { intervalSeconds, vantages, timeoutMs = 10_000, enabled = true } = body;
  const { confirmations, quorum } = body.downCondition ?? { confirmations: 2, quorum: majority(vantages) };

  return ctx.write(async (tx) => {
    await checkQuota(tx, org, app.config.uptime_monitor_quota);
    checkInterval(app, intervalSeconds);
    await checkVantages(tx, vantages);
    const complaint = timeoutComplaint({ intervalSeconds, timeoutMs }) ?? quorumComplaint({ vantages, quorum });
    if (complaint) invalid(complaint);
    const targets = fillIn(body);
    checkTarget(app, targets);
    const service = body.serviceId === undefined ? undefined : await findService(tx, ctx, body.serviceId, 'service in serviceId');

    const made = await makeMonitor(tx, app.secrets, org, {
      name: body.name,
      service_id: service?.id ?? null,
      enabled,
      kind: body.kind,
      target: targetOf(targets),
      interval_seconds: intervalSeconds,
      timeout_ms: timeoutMs,
      vantages,
      confirmations,
      quorum,
    });
    await audit(tx, ctx, 'uptime.monitor.create', made, { name: made.name, kind: made.kind, serviceId: made.service_id });
    return created(monitorView(ctx, (await monitorById(tx, org, made.id))!), `/uptime/monitors/${made.id}`);
  });
});
