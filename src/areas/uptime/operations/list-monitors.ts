import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { monitorsOf } from '../store/monitors.ts';
import { monitorView } from '../views/monitor.ts';

export const listMonitors = operation(uptime.listMonitors, async ({ ctx, query }) => {
  const slice = paginationOf(query);
  return ctx.read(async (tx) => {
    const { items, cursor } = paginate(await monitorsOf(tx, ctx.org, ctx.visible, slice), slice, (m) => m.id);
    return ok({ monitors: items.map((m) => monitorView(ctx, m)), ...(cursor ? { cursor } : {}) });
  });
});
