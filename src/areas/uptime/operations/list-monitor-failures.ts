import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findMonitor } from '../engine/find-monitor.ts';
import { failuresOf } from '../store/observations.ts';
import { failureView } from '../views/history.ts';

export const listMonitorFailures = operation(uptime.listMonitorFailures, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const monitor = await findMonitor(tx, ctx, params.id);
    return ok({ failures: (await failuresOf(tx, ctx.org, monitor.id)).map(failureView) });
  }),
);
