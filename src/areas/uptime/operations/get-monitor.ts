import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findMonitor } from '../find-monitor.ts';
import { monitorView } from '../view.ts';

export const getMonitor = operation(uptime.getMonitor, async ({ ctx, params }) =>
  ctx.read(async (tx) => ok(monitorView(ctx, await findMonitor(tx, ctx, params.id)))),
);
