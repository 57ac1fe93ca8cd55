import { oncall } from '../../../../contract/oncall.ts';
import { created, operation } from '../../../identity/operation.ts';
import { createService } from '../../services/engine/catalog.ts';
import { oncallViews } from '../../uptime/views/service.ts';

export const createOncallService = operation(oncall.createOncallService, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await createService(tx, ctx, body.name);
    const [view] = await oncallViews(tx, ctx.app, ctx.org, [service]);
    return created(view!, `/oncall/services/${service.id}`);
  }),
);
