import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { cutSlice, sliceOf } from '../../../kernel/slice.ts';
import { listServices } from '../../services/index.ts';
import { serviceViews } from '../views/service.ts';

export const listOncallServices = operation(oncall.listOncallServices, async ({ ctx, query }) => {
  const slice = sliceOf(query);
  return ctx.read(async (tx) => {
    const { items, cursor } = cutSlice(await listServices(tx, ctx.org, ctx.visible, slice), slice, (s) => s.id);
    return ok({ services: await serviceViews(tx, ctx.org, items), ...(cursor ? { cursor } : {}) });
  });
});
