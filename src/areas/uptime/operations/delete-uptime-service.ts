import { uptime } from '../../../../contract/uptime.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { serviceReferences as oncallReferences } from '../../oncall/index.ts';
import { deleteService, lockService } from '../../services/index.ts';
import { references } from '../engine/references.ts';

export const deleteUptimeService = operation(uptime.deleteUptimeService, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const service = (await lockService(tx, ctx.org, params.id)) ?? notFound('service');
    ctx.require(service.id);
    const ours = await references(tx, ctx.org, service.id);
    const oncalls = await oncallReferences(tx, ctx.org, service.id);
    await deleteService(tx, ctx, service, [...ours, ...oncalls]);
    return noContent();
  }),
);
