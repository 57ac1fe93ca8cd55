import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/engine/public.ts';
import * as store from '../../services/store/services.ts';
import { uptimeViews } from '../views/service.ts';

export const renameUptimeService = operation(uptime.renameUptimeService, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const service = (await store.lockService(tx, ctx.org, params.id)) ?? notFound('service');
    ctx.require(service.id);
    const renamed =
      (await store.renameService(tx, ctx.org, service.id, body.name)) ??
      conflict(`a service named ${body.name} exists; choose another name`);

    await publicChanged(tx, ctx.org);
    await audit(tx, ctx, 'services.service.rename', service, { from: service.name, to: renamed.name });
    const [view] = await uptimeViews(tx, ctx.app, ctx.org, [renamed]);
    return ok(view!);
  }),
);
