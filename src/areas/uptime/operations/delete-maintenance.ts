import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/index.ts';
import { maintenanceChanged } from '../engine/lifecycle.ts';
import * as store from '../store/maintenance.ts';

export const deleteMaintenance = operation(uptime.deleteMaintenance, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const found = (await store.lockMaintenance(tx, ctx.org, params.id)) ?? notFound('maintenance window');
    ctx.require(found.service_id);
    await store.deleteMaintenance(tx, ctx.org, found.id);
    await maintenanceChanged(tx, ctx.org, found.service_id);
    await audit(tx, ctx, 'uptime.maintenance.delete', found, { title: found.title, serviceId: found.service_id });
    await publicChanged(tx, ctx.org);
    return noContent();
  }),
);
