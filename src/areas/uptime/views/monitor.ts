import type { Ctx } from '../../../identity/context.ts';
import { conditionsOf } from '../rules/conditions.ts';
import { maskedTarget, publicTarget } from '../rules/masked-target.ts';
import { reachesMonitor } from '../rules/reach.ts';
import { openedTarget } from '../rules/sealed-target.ts';
import type { WatchedRow } from '../store/monitors.ts';
import type { SeenRow } from '../store/vantage-states.ts';

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

/** In the order of the monitor's vantages; rows of vantages that it had before are left out. */
export const vantageStatesView = ({ vantages }: WatchedRow, seen: readonly SeenRow[]) =>
  vantages.map((vantage) => {
    const row = seen.find((s) => s.vantage === vantage);
    return {
      vantage,
      verdict: row?.verdict ?? ('unknown' as const),
      ...(row?.failing_since ? { failingSince: row.failing_since } : {}),
      ...(row?.checked_at ? { checkedAt: row.checked_at } : {}),
      ...(row?.latency == null ? {} : { latencyMs: row.latency }),
    };
  });
