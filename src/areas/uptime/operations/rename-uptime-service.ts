import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { serviceRenamed } from '../../oncall/index.ts';
import { lockService, renameService } from '../../services/index.ts';
import { serviceView } from '../views/service.ts';

export const renameUptimeService = operation(uptime.renameUptimeService, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const service = (await lockService(tx, ctx.org, params.id)) ?? notFound('service');
    ctx.require(service.id);
    const renamed = await renameService(tx, ctx, service, body.name);
    await serviceRenamed(tx, ctx.org, renamed);
    return ok(await serviceView(tx, ctx.org, renamed));
  }),
);
