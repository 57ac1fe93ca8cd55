import { uptime } from '../../../../contract/uptime.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { viewService } from '../engine/find-monitor.ts';
import { availabilityOf } from '../engine/service-availability.ts';
import { percent } from '../rules/windows.ts';

const shownDays = 90;

const withShare = <F extends { watchedSeconds: number; downSeconds: number }>(figures: F) => ({
  ...figures,
  uptimePct: percent(figures.downSeconds, figures.watchedSeconds),
});

export const getServiceAvailability = operation(uptime.getServiceAvailability, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const { id } = await viewService(tx, ctx, params.id);
    const { state, from, days, months } = (await availabilityOf(tx, ctx.org, [id], shownDays)).get(id)!;
    const known = { ...(state ? { state } : {}), ...(from ? { countedFrom: from } : {}) };
    return ok({ serviceId: id, ...known, days: days.map(withShare), months: months.map(withShare) });
  }),
);
