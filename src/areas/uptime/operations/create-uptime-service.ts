import { uptime } from '../../../../contract/uptime.ts';
import { created, operation } from '../../../identity/operation.ts';
import { createService } from '../../services/engine/catalog.ts';
import { uptimeViews } from '../views/service.ts';

export const createUptimeService = operation(uptime.createUptimeService, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await createService(tx, ctx, body.name);
    const [view] = await uptimeViews(tx, ctx.app, ctx.org, [service]);
    return created(view!, `/uptime/services/${service.id}`);
  }),
);
