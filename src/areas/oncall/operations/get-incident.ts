import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { findIncident } from '../engine/find-incident.ts';
import { alertsOf } from '../store/alerts.ts';
import { pagesOf } from '../store/pages.ts';
import { timelineOf } from '../store/timeline.ts';
import { updatesOf } from '../store/updates.ts';
import { incidentDetail, maxShown } from '../views/incidents.ts';

export const getIncident = operation(oncall.getIncident, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const incident = await findIncident(tx, ctx, params.id);
    // The timeline is read last, so that it has an entry for everything else shown.
    const pages = await pagesOf(tx, ctx.org, incident.id, maxShown + 1);
    const alerts = await alertsOf(tx, ctx.org, incident.id, maxShown + 1);
    const updates = await updatesOf(tx, ctx.org, incident.id);
    const timeline = await timelineOf(tx, ctx.org, incident.id, maxShown + 1);
    return ok(incidentDetail(incident, { alerts, updates, pages, timeline }));
  }),
);
