import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findMonitor } from '../engine/find-monitor.ts';
import { transitionsOf } from '../store/observations.ts';
import { transitionView } from '../views/history.ts';

export const listMonitorTransitions = operation(uptime.listMonitorTransitions, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const monitor = await findMonitor(tx, ctx, params.id);
    return ok({ transitions: (await transitionsOf(tx, ctx.org, monitor.id)).map(transitionView) });
  }),
);
