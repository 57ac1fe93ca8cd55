import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paged, pageOf } from '../../../kernel/page.ts';
import { maintenanceOf } from '../store/maintenance.ts';
import { maintenanceView } from '../views/maintenance.ts';

export const listMaintenance = operation(uptime.listMaintenance, async ({ ctx, query }) => {
  const page = pageOf(query);
  return ctx.read(async (tx) => {
    const { items, cursor } = paged(await maintenanceOf(tx, ctx.org, ctx.visible, page), page, (m) => m.id);
    return ok({ maintenance: items.map(maintenanceView), ...(cursor ? { cursor } : {}) });
  });
});
