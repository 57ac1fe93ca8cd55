import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { publicChanged } from '../../services/index.ts';
import { actorOf, findIncident } from '../engine/find-incident.ts';
import { note } from '../store/timeline.ts';
import { deleteUpdate } from '../store/updates.ts';

export const retractIncidentUpdate = operation(oncall.retractIncidentUpdate, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const incident = await findIncident(tx, ctx, params.id);
    if (!(await deleteUpdate(tx, ctx.org, incident.id, params.uid))) notFound('update');
    const actor = actorOf(ctx);
    await note(tx, ctx.org, incident.id, {
      kind: 'update_retracted',
      message: `${actor.label} retracted an update`,
      actor,
      data: { updateId: params.uid },
    });
    await audit(tx, ctx, 'oncall.update.retract', { id: params.uid }, { incidentId: incident.id });
    await publicChanged(tx, ctx.org);
    return noContent();
  }),
);
