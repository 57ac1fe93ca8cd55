import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { cutSlice, sliceOf } from '../../../kernel/slice.ts';
import { listServices } from '../../services/index.ts';
import { serviceViews } from '../views/service.ts';

export const listUptimeServices = operation(uptime.listUptimeServices, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = sliceOf(query);
    const { items, cursor } = cutSlice(await listServices(tx, ctx.org, ctx.visible, slice), slice, (s) => s.id);
    return ok({ services: await serviceViews(tx, ctx.org, items), ...(cursor ? { cursor } : {}) });
  }),
);
