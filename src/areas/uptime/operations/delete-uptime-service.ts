import { uptime } from '../../../../contract/uptime.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { serviceReferences as oncallReferences, serviceDeleted } from '../../oncall/index.ts';
import { deleteService, lockService, namedServices } from '../../services/index.ts';
import { notifyOncallNow } from '../engine/notify-oncall.ts';
import { references } from '../engine/references.ts';

export const deleteUptimeService = operation(uptime.deleteUptimeService, async ({ ctx, params }) => {
  if (!(await ctx.read((tx) => namedServices(tx, ctx.org, [params.id]))).has(params.id)) notFound('service');
  ctx.require(params.id);
  // A monitor that was deleted this moment must not keep its service by an incident that nobody has ended yet.
  await notifyOncallNow(ctx.app.db, ctx.org, params.id).catch(() => {}); // what on-call cannot take now stays a reason to refuse
  return ctx.write(async (tx) => {
    const service = (await lockService(tx, ctx.org, params.id)) ?? notFound('service');
    ctx.require(service.id);
    const ours = await references(tx, ctx.org, service.id);
    const oncalls = await oncallReferences(tx, ctx.org, service.id);
    await deleteService(tx, ctx, service, [...ours, ...oncalls]);
    await serviceDeleted(tx, ctx.org, service);
    return noContent();
  });
});
