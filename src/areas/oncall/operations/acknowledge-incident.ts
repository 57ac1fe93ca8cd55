import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import type { Ctx } from '../../../identity/context.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { acknowledge } from '../engine/change-status.ts';
import { actorOf, lockIncident } from '../engine/find-incident.ts';
import { incidentView } from '../views/incidents.ts';

const handle = ({ ctx, params }: { ctx: Ctx; params: { id: string } }) =>
  ctx.write(async (tx) => {
    await lockIncident(tx, ctx, params.id);
    const { is, incident } = (await acknowledge(tx, ctx.org, params.id, actorOf(ctx))) ?? notFound('incident');
    if (incident.status === 'resolved') conflict('the incident is resolved; open a new one to page again');
    if (is !== 'already') await audit(tx, ctx, 'oncall.incident.acknowledge', incident);
    return ok(incidentView(incident));
  });

export const acknowledgeIncident = operation(oncall.acknowledgeIncident, handle, { isUrgent: true });
export const acknowledgeIncidentAlias = operation(oncall.acknowledgeIncidentAlias, handle, { isUrgent: true });
