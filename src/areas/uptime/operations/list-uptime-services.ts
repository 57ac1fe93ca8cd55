import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { listServices } from '../../services/index.ts';
import { serviceViews } from '../views/service.ts';

export const listUptimeServices = operation(uptime.listUptimeServices, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const { items, cursor } = paginate(await listServices(tx, ctx.org, ctx.visible, slice), slice, (s) => s.id);
    return ok({ services: await serviceViews(tx, ctx.org, items), ...(cursor ? { cursor } : {}) });
  }),
);
