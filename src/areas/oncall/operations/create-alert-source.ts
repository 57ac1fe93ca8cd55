import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { findService } from '../engine/find-service.ts';
import { createSource } from '../engine/sources.ts';

export const createAlertSource = operation(oncall.createAlertSource, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await findService(tx, ctx, body.serviceId, 'service in serviceId');
    const source = await createSource(tx, ctx.org, { name: body.name, serviceId: service.id });
    await audit(tx, ctx, 'oncall.source.create', source, { name: source.name, serviceId: service.id });
    const { id, name, token, created_at: createdAt } = source;
    return created({ id, name, serviceId: service.id, token, createdAt }, `/oncall/alert-sources/${id}`);
  }),
);
