import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findMonitor } from '../engine/find-monitor.ts';
import { seenBy } from '../store/vantage-states.ts';
import { monitorView, vantageStatesView } from '../views/monitor.ts';

export const getMonitor = operation(uptime.getMonitor, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const monitor = await findMonitor(tx, ctx, params.id);
    return ok({ ...monitorView(ctx, monitor), vantageStates: vantageStatesView(monitor, await seenBy(tx, monitor.id)) });
  }),
);
