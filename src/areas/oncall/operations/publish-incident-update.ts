import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { actorOf, findIncident } from '../find-incident.ts';
import { note } from '../store/timeline.ts';
import { insertUpdate } from '../store/updates.ts';
import { updateView } from '../view.ts';

export const publishIncidentUpdate = operation(oncall.publishIncidentUpdate, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const incident = await findIncident(tx, ctx, params.id);
    const actor = actorOf(ctx);
    const update = await insertUpdate(tx, ctx.org, incident.id, body.body, actor.label);
    await note(tx, ctx.org, incident.id, {
      kind: 'update_published',
      message: `${actor.label} published an update`,
      actor,
      data: { updateId: update.id },
    });
    await audit(tx, ctx, 'oncall.update.publish', update, { incidentId: incident.id });
    return created(updateView(update), `/oncall/incidents/${incident.id}/updates/${update.id}`);
  }),
);
