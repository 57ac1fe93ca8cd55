import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { listServices } from '../../services/index.ts';
import { serviceViews } from '../views/service.ts';

export const listOncallServices = operation(oncall.listOncallServices, async ({ ctx, query }) => {
  const slice = paginationOf(query);
  return ctx.read(async (tx) => {
    const { items, cursor } = paginate(await listServices(tx, ctx.org, ctx.visible, slice), slice, (s) => s.id);
    return ok({ services: await serviceViews(tx, ctx.org, items), ...(cursor ? { cursor } : {}) });
  });
});
