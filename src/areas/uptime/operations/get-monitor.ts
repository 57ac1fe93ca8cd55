import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findMonitor } from '../engine/find-monitor.ts';
import { monitorView } from '../views/monitor.ts';

export const getMonitor = operation(uptime.getMonitor, async ({ ctx, params }) =>
  ctx.read(async (tx) => ok(monitorView(ctx, await findMonitor(tx, ctx, params.id)))),
);
