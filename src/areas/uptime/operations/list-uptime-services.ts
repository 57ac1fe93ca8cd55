import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../services/store/services.ts';
import { uptimeViews } from '../views/service.ts';

export const listUptimeServices = operation(uptime.listUptimeServices, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ services: await uptimeViews(tx, ctx.app, ctx.org, await store.services(tx, ctx.org, ctx.visible)) })),
);
