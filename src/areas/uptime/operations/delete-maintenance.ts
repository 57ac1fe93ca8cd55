import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { callOffMaintenance } from '../engine/maintenance.ts';
import { lockMaintenance } from '../store/maintenance.ts';

export const deleteMaintenance = operation(uptime.deleteMaintenance, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = (await lockMaintenance(tx, ctx.org, params.id)) ?? notFound('maintenance window');
    ctx.require(found.service_id);
    await callOffMaintenance(tx, ctx.org, found);
    await audit(tx, ctx, 'uptime.maintenance.delete', found, { title: found.title, serviceId: found.service_id });
    return noContent();
  }),
);
