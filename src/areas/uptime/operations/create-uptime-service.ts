import { uptime } from '../../../../contract/uptime.ts';
import { created, operation } from '../../../identity/operation.ts';
import { createService } from '../../services/index.ts';
import { serviceView } from '../views/service.ts';

export const createUptimeService = operation(uptime.createUptimeService, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await createService(tx, ctx, body.name);
    return created(await serviceView(tx, ctx.org, service), `/uptime/services/${service.id}`);
  }),
);
