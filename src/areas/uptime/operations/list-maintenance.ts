import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { maintenanceOf } from '../store/maintenance.ts';
import { maintenanceView } from '../views/maintenance.ts';

export const listMaintenance = operation(uptime.listMaintenance, async ({ ctx, query }) => {
  const slice = paginationOf(query);
  return ctx.read(async (tx) => {
    const { items, cursor } = paginate(await maintenanceOf(tx, ctx.org, ctx.visible, slice), slice, (m) => m.id);
    return ok({ maintenance: items.map(maintenanceView), ...(cursor ? { cursor } : {}) });
  });
});
