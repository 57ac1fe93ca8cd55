import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { forbidden, invalid } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/index.ts';
import { checkInterval, checkTarget, checkVantages, fillIn } from '../admissible.ts';
import { begin } from '../engine/lifecycle.ts';
import { findService } from '../find-monitor.ts';
import { shownTarget } from '../rules/hidden.ts';
import { majority, quorumComplaint, shapeComplaint, targetOf, timeoutComplaint } from '../rules/target.ts';
import { sealTarget } from '../sealed-target.ts';
import { nextRevision } from '../store/monitor-row.ts';
import * as store from '../store/monitors.ts';
import { monitorView } from '../view.ts';

/** Refused in the order that the specification gives: shape, quota, interval, vantages, target. */
export const createMonitor = operation(uptime.createMonitor, async ({ ctx, body }) => {
  const { app, org } = ctx;
  const misshapen = shapeComplaint(body.kind, body);
  if (misshapen) invalid(misshapen);
  const { intervalSeconds, vantages, timeoutMs = 10_000, enabled = true } = body;
  const { confirmations, quorum } = body.downCondition ?? { confirmations: 2, quorum: majority(vantages) };

  return ctx.write(async (tx) => {
    const quota = app.config.uptime_monitor_quota;
    if ((await store.countMonitors(tx, org)) >= quota)
      forbidden(`the organization has ${quota} monitors, as many as it may; delete one first, or ask the operator for more`, {
        code: 'quota_reached',
      });
    checkInterval(app, intervalSeconds);
    await checkVantages(tx, vantages);
    const complaint = timeoutComplaint({ intervalSeconds, timeoutMs }) ?? quorumComplaint({ vantages, quorum });
    if (complaint) invalid(complaint);
    const targets = fillIn(body);
    checkTarget(app, targets);
    const service = body.serviceId === undefined ? undefined : await findService(tx, ctx, body.serviceId, 'service in serviceId');

    const target = targetOf(targets);
    const id = await store.newMonitorId(tx);
    const made = await store.insertMonitor(tx, org, {
      id,
      name: body.name,
      service_id: service?.id ?? null,
      enabled,
      kind: body.kind,
      target: shownTarget(target),
      sealed: sealTarget(app.secrets, id, target),
      interval_seconds: intervalSeconds,
      timeout_ms: timeoutMs,
      vantages,
      confirmations,
      quorum,
      revision: await nextRevision(tx),
    });
    await begin(tx, made);
    await audit(tx, ctx, 'uptime.monitor.create', made, { name: made.name, kind: made.kind, serviceId: made.service_id });
    if (service) await publicChanged(tx, org);
    return created(monitorView(ctx, (await store.monitorById(tx, org, made.id))!), `/uptime/monitors/${made.id}`);
  });
});
