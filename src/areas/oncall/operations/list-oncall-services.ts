import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { listServices } from '../../services/index.ts';
import { serviceViews } from '../views/service.ts';

export const listOncallServices = operation(oncall.listOncallServices, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ services: await serviceViews(tx, ctx.org, await listServices(tx, ctx.org, ctx.visible)) })),
);
