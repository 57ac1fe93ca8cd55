import { uptime } from '../../../../contract/uptime.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { findService } from '../engine/find-monitor.ts';
import { planMaintenance } from '../engine/maintenance.ts';
import { windowComplaint } from '../rules/maintenance.ts';
import { maintenanceView } from '../views/maintenance.ts';

export const createMaintenance = operation(uptime.createMaintenance, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await findService(tx, ctx, body.serviceId, 'service in serviceId');
    const at = await now(tx);
    const { title } = body;
    const [startsAt, endsAt] = [new Date(body.startsAt ?? at).toISOString(), new Date(body.endsAt).toISOString()];
    const complaint = windowComplaint({ startsAt, endsAt, now: at });
    if (complaint) invalid(complaint);

    const made = await planMaintenance(tx, ctx.org, { serviceId: service.id, title, startsAt, endsAt });
    await audit(tx, ctx, 'uptime.maintenance.create', made, {
      title,
      serviceId: service.id,
      startsAt: made.starts_at,
      endsAt: made.ends_at,
    });
    return created(maintenanceView(made), `/uptime/maintenance/${made.id}`);
  }),
);
