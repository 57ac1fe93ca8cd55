import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { listServices } from '../../services/index.ts';
import { serviceViews } from '../views/service.ts';

export const listUptimeServices = operation(uptime.listUptimeServices, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ services: await serviceViews(tx, ctx.org, await listServices(tx, ctx.org, ctx.visible)) })),
);
