import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paged, pageOf } from '../../../kernel/page.ts';
import { monitorsOf } from '../store/monitors.ts';
import { monitorView } from '../views/monitor.ts';

export const listMonitors = operation(uptime.listMonitors, async ({ ctx, query }) => {
  const page = pageOf(query);
  return ctx.read(async (tx) => {
    const { items, cursor } = paged(await monitorsOf(tx, ctx.org, ctx.visible, page), page, (m) => m.id);
    return ok({ monitors: items.map((m) => monitorView(ctx, m)), ...(cursor ? { cursor } : {}) });
  });
});
