import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { now } from '../../../kernel/time.ts';
import { cellSeconds, firstCellAt, pointSeconds } from '../rules/summary.ts';
import { countsOf, recentChanges, summaryOf } from '../store/summary.ts';
import { summaryView } from '../views/summary.ts';

export const getUptimeSummary = operation(uptime.getUptimeSummary, async ({ ctx, query }) => {
  const slice = paginationOf(query);
  return ctx.read(async (tx) => {
    const at = Date.parse(await now(tx));
    const firstCell = firstCellAt(at);
    const [found, counts] = await Promise.all([summaryOf(tx, ctx.org, ctx.visible, firstCell, slice), countsOf(tx, ctx.org, ctx.visible)]);
    const { items, cursor } = paginate(found, slice, (m) => m.id);
    const changes = await recentChanges(
      tx,
      items.map((m) => m.id),
    );
    const byMonitor = Map.groupBy(changes, (c) => c.monitor_id);
    return ok({
      from: new Date(firstCell * cellSeconds * 1_000).toISOString(),
      cellSeconds,
      pointSeconds,
      counts,
      monitors: items.map((m) => summaryView(m, byMonitor.get(m.id) ?? [], at)),
      ...(cursor ? { cursor } : {}),
    });
  });
});
