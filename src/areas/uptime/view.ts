import type { Ctx } from '../../identity/context.ts';
import { mayChange } from './find-monitor.ts';
import { maskedTarget, shownTarget } from './rules/hidden.ts';
import { openedTarget } from './sealed-target.ts';
import type { MaintenanceRow } from './store/maintenance.ts';
import type { WatchedRow } from './store/monitors.ts';
import type { FailureRow, TransitionRow } from './store/observations.ts';

/** What everybody may see, where it cannot be opened: then it can still be found, renamed, set anew and deleted. */
function targetView(ctx: Ctx, m: WatchedRow) {
  const whole = mayChange(ctx, m) ? openedTarget(ctx.app.secrets, m) : undefined;
  return whole ? maskedTarget(whole) : shownTarget(m.target);
}

/** As much of a monitor as the caller may see: values that are sent with its checks are nobody's to see. */
export const monitorView = (ctx: Ctx, m: WatchedRow) => ({
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

export const failureView = (f: FailureRow) => ({
  at: f.at,
  vantage: f.vantage,
  attempt: f.attempt,
  outcome: f.outcome,
  errorKind: f.error_kind,
  errorDetail: f.error_detail,
  responseSnippet: f.response_snippet,
});

export const transitionView = (t: TransitionRow) => ({
  at: t.at,
  from: t.from_state,
  to: t.to_state,
  failingVantages: t.failing_vantages,
});

export const maintenanceView = (m: MaintenanceRow) => ({
  id: m.id,
  serviceId: m.service_id,
  title: m.title,
  startsAt: m.starts_at,
  endsAt: m.ends_at,
  createdAt: m.created_at,
});
