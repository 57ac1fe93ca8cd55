import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { incidentsOf } from '../store/incidents.ts';
import { incidentView } from '../views/incidents.ts';

export const listIncidents = operation(oncall.listIncidents, async ({ ctx, query: { status, serviceId, ...from } }) => {
  const slice = paginationOf({ limit: 100, ...from });
  return ctx.read(async (tx) => {
    const { items, cursor } = paginate(await incidentsOf(tx, ctx.org, ctx.visible, { status, serviceId }, slice), slice, (i) => i.id);
    return ok({ incidents: items.map(incidentView), ...(cursor ? { cursor } : {}) });
  });
});
