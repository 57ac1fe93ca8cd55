import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import * as store from '../../services/store/services.ts';
import { oncallViews } from '../../uptime/views/service.ts';

export const listOncallServices = operation(oncall.listOncallServices, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ services: await oncallViews(tx, ctx.app, ctx.org, await store.services(tx, ctx.org, ctx.visible)) })),
);
