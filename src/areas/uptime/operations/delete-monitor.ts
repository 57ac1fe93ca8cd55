import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { publicChanged } from '../../services/index.ts';
import { stopWatching } from '../engine/lifecycle.ts';
import { lockMonitor } from '../find-monitor.ts';
import { shownTarget } from '../rules/hidden.ts';
import { sealTarget } from '../sealed-target.ts';
import { nextRevision } from '../store/monitor-row.ts';
import * as store from '../store/monitors.ts';

export const deleteMonitor = operation(uptime.deleteMonitor, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const monitor = await lockMonitor(tx, ctx, params.id);
    const { id } = monitor;
    const target = shownTarget(monitor.target);
    await store.deleteMonitor(tx, ctx.org, {
      id,
      target,
      sealed: sealTarget(ctx.app.secrets, id, target),
      revision: await nextRevision(tx),
    });
    await stopWatching(tx, monitor, 'deleted');
    await audit(tx, ctx, 'uptime.monitor.delete', monitor, { name: monitor.name });
    if (monitor.service_id !== null) await publicChanged(tx, ctx.org);
    return noContent();
  }),
);
