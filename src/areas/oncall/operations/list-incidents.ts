import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { incidentsOf } from '../store/incidents.ts';
import { incidentView } from '../views/incidents.ts';

export const listIncidents = operation(oncall.listIncidents, async ({ ctx, query }) =>
  ctx.read(async (tx) => ok({ incidents: (await incidentsOf(tx, ctx.org, ctx.visible, query.status)).map(incidentView) })),
);
