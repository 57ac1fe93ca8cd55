import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { now } from '../../../../kernel/time.ts';
import { parseDays } from '../rules/day-window.ts';
import { outcomeDays, outcomesByDay, outcomesCountedFrom } from '../store/outcome-days.ts';
import { findSendingRates } from '../store/sending-pause.ts';
import { dayView, ratesView } from '../views/stats.ts';

export const getEmailStats = operation(email.getEmailStats, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const window = parseDays(query, await now(tx), outcomeDays);
    const { domainId } = query;
    const [days, countedFrom, [rates]] = await Promise.all([
      outcomesByDay(tx, ctx.org, ctx.visible, { ...window, ...(domainId === undefined ? {} : { domainId }) }),
      outcomesCountedFrom(tx),
      findSendingRates(tx, [ctx.org]),
    ]);
    return ok({
      ...window,
      countedFrom,
      days: days.map(dayView),
      // The pause is about the whole organization.
      ...(ctx.visible === '*' ? { pause: ratesView(rates!) } : {}),
    });
  }),
);
