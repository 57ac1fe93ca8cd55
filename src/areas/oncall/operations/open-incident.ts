import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { actorOf } from '../engine/find-incident.ts';
import { findService } from '../engine/find-service.ts';
import { openIncident as open } from '../engine/open-incident.ts';
import { incidentView } from '../views/incidents.ts';

export const openIncident = operation(oncall.openIncident, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const service = await findService(tx, ctx, body.serviceId, 'service in serviceId');
    const incident = await open(tx, ctx.org, {
      serviceId: service.id,
      serviceName: service.name,
      title: body.title,
      description: body.description?.trim() || undefined,
      origin: 'manual',
      actor: actorOf(ctx),
      requestId: ctx.requestId,
    });
    await audit(tx, ctx, 'oncall.incident.open', incident, { title: incident.title, serviceId: service.id });
    return created(incidentView(incident), `/oncall/incidents/${incident.id}`);
  }),
);
