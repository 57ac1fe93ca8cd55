import type { Ctx } from '../../../identity/context.ts';
import { conditionsOf } from '../rules/conditions.ts';
import { maskedTarget, publicTarget } from '../rules/masked-target.ts';
import { reachesMonitor } from '../rules/reach.ts';
import { openedTarget } from '../rules/sealed-target.ts';
import type { WatchedRow } from '../store/monitors.ts';

/** The public part where the target cannot be unsealed: the monitor can still be found, renamed, edited and deleted. */
function targetView(ctx: Ctx, m: WatchedRow) {
  const mayChange = reachesMonitor(ctx.reach('uptime.monitor.write'), m);
  const whole = mayChange ? openedTarget(ctx.app.secrets, m) : undefined;
  return whole ? maskedTarget(whole) : publicTarget(m.target);
}

/** Absent while every check is made. */
function conditionsView({ enabled, skipped }: WatchedRow) {
  const conditions = enabled ? conditionsOf(skipped) : [];
  return conditions.length ? { conditions } : {};
}

/** A monitor as the caller may see it. Values that are sent with its checks are never shown. */
export const monitorView = (ctx: Ctx, m: WatchedRow) => ({
  ...conditionsView(m),
  id: m.id,
  name: m.name,
  ...(m.service_id === null ? {} : { serviceId: m.service_id }),
  enabled: m.enabled,
  intervalSeconds: m.interval_seconds,
  vantages: m.vantages,
  timeoutMs: m.timeout_ms,
  downCondition: { confirmations: m.confirmations, quorum: m.quorum },
  kind: m.kind,
  state: m.state,
  stateSince: m.since,
  createdAt: m.created_at,
  updatedAt: m.updated_at,
  [m.kind]: targetView(ctx, m),
});
