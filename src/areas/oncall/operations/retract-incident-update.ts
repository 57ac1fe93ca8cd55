import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { actorOf, lockIncident } from '../engine/find-incident.ts';
import { retractUpdate } from '../engine/updates.ts';

export const retractIncidentUpdate = operation(oncall.retractIncidentUpdate, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const incident = await lockIncident(tx, ctx, params.id);
    await retractUpdate(tx, ctx.org, incident, actorOf(ctx), params.uid);
    await audit(tx, ctx, 'oncall.update.retract', { id: params.uid }, { incidentId: incident.id });
    return noContent();
  }),
);
