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
  // Delivers pending notifications first: the incident of a monitor that was just deleted must not block the deletion.
  await notifyOncallNow(ctx.app.db, ctx.org, params.id).catch(() => {}); // what on-call cannot take now remains a reason to refuse
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
