import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { resolve } from '../engine/change-status.ts';
import { actorOf, lockIncident } from '../engine/find-incident.ts';
import { incidentView } from '../views/incidents.ts';

export const resolveIncident = operation(oncall.resolveIncident, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    await lockIncident(tx, ctx, params.id);
    const { is, incident } = (await resolve(tx, ctx.org, params.id, actorOf(ctx))) ?? notFound('incident');
    if (is === 'already') conflict('the incident is already resolved; what fires after it opens a new one');
    await audit(tx, ctx, 'oncall.incident.resolve', incident);
    return ok(incidentView(incident));
  }),
);
