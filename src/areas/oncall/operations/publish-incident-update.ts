import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { actorOf, lockIncident } from '../engine/find-incident.ts';
import { publishUpdate } from '../engine/updates.ts';
import { updateView } from '../views/incidents.ts';

export const publishIncidentUpdate = operation(oncall.publishIncidentUpdate, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const incident = await lockIncident(tx, ctx, params.id);
    const update = await publishUpdate(tx, ctx.org, incident, actorOf(ctx), body);
    await audit(tx, ctx, 'oncall.update.publish', update, { incidentId: incident.id });
    return created(updateView(update), `/oncall/incidents/${incident.id}/updates/${update.id}`);
  }),
);
