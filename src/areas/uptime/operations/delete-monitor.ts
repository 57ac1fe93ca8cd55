import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { lockMonitor } from '../engine/find-monitor.ts';
import * as monitors from '../engine/monitors.ts';

export const deleteMonitor = operation(uptime.deleteMonitor, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const monitor = await lockMonitor(tx, ctx, params.id);
    await monitors.deleteMonitor(tx, ctx.app.secrets, monitor);
    await audit(tx, ctx, 'uptime.monitor.delete', monitor, { name: monitor.name });
    return noContent();
  }),
);
