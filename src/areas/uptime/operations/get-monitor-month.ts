import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findMonitor } from '../engine/find-monitor.ts';
import { metricsUnavailable } from '../engine/metrics-unavailable.ts';
import type { OpenUptime } from '../open.ts';
import { metricsOf, spanOf } from '../rules/windows.ts';

export const getMonitorMonth = operation(uptime.getMonitorMonth, async ({ ctx, params }, { metricsStore }: OpenUptime) => {
  const view = async () => {
    const monitor = await ctx.read((tx) => findMonitor(tx, ctx, params.id));
    const span = spanOf('30d', monitor.interval_seconds);
    return ok({ stepSeconds: span.step, ...metricsOf(await metricsStore.buckets(monitor.no, span)) });
  };
  return view().catch(metricsUnavailable);
});
