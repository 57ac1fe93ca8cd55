import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { conflict } from '../../../kernel/errors.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';
import { publicChanged } from '../../services/index.ts';
import { actorOf, findIncident } from '../find-incident.ts';
import { note } from '../store/timeline.ts';
import { insertUpdate } from '../store/updates.ts';
import { updateView } from '../view.ts';

export const publishIncidentUpdate = operation(oncall.publishIncidentUpdate, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const incident = await findIncident(tx, ctx, params.id);
    const actor = actorOf(ctx);
    if (body.kind === 'postmortem' && incident.status !== 'resolved')
      conflict('the incident is not resolved yet; resolve it before its post-mortem');
    const update = await insertUpdate(tx, ctx.org, incident.id, body.body, actor.label, body.kind ?? 'update');
    await note(tx, ctx.org, incident.id, {
      kind: 'update_published',
      message: `${actor.label} published an update`,
      actor,
      data: { updateId: update.id },
    });
    await audit(tx, ctx, 'oncall.update.publish', update, { incidentId: incident.id });
    await publicChanged(tx, ctx.org);
    wake(tx, channelNamed('status.announce')); // subscribers of status pages are told: an area of its own, which looks for what is new
    return created(updateView(update), `/oncall/incidents/${incident.id}/updates/${update.id}`);
  }),
);
