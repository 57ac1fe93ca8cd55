import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { parseWindow } from '../rules/query-time.ts';
import { gapsBetween, type Shift, shiftsBetween } from '../rules/rotation.ts';
import type { Rota } from '../store/schedules.ts';
import * as store from '../store/schedules.ts';

const maxDays = 62;
/** 200 schedules with a daily handoff and their overrides would be more than a browser can show. */
const maxShifts = 10_000;

export const listShifts = operation(oncall.listShifts, async ({ ctx, query }) => {
  const { window, schedules, rotas } = await ctx.read(async (tx) => {
    const window = parseWindow(query, await now(tx), maxDays);
    const schedules = (await store.schedules(tx, ctx.org)).sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
    const ids = schedules.map((s) => s.id);
    return { window, schedules, rotas: await store.rotasOf(tx, ctx.org, ids, window.from, window.to, store.maxOverrides) };
  });
  const { from, to } = window;
  const found: Computed[] = [];
  let count = 0;
  for (const { id } of schedules) {
    const rota = rotas.get(id);
    if (!rota) continue;
    const shifts = shiftsBetween(rota.rotation, rota.overrides, from, to);
    count += shifts.length;
    if (count > maxShifts) invalid(`the window holds more than ${maxShifts} shifts; bring from and to closer together`);
    found.push({ id, rota, shifts });
    await yieldToLoop();
  }
  const mine = query.mine ?? false;
  const shifts = found.flatMap((each) => shiftViews(each, ctx.user.id)).filter((shift) => shift.mine || !mine);
  const gaps = found.flatMap(({ id, rota, shifts: its }) => gapsBetween(its, from, to).map((gap) => ({ ...scheduleOf(id, rota), ...gap })));
  return ok({
    from,
    to,
    schedules: schedules.map(({ id, name, timezone }) => ({ id, name, timezone })),
    shifts: shifts.sort(byStart),
    ...(mine ? {} : { gaps: gaps.sort(byStart) }),
  });
});

interface Computed {
  id: string;
  rota: Rota;
  shifts: Shift[];
}

const scheduleOf = (id: string, { name }: Rota) => ({ scheduleId: id, scheduleName: name });
const shiftViews = ({ id, rota, shifts }: Computed, userId: string) =>
  shifts.map((shift) => ({ ...scheduleOf(id, rota), ...shift, mine: shift.userId === userId }));

/** Stable: schedules stay in the order of their names among those that start at once. */
const byStart = (a: { startsAt: string }, b: { startsAt: string }) => (a.startsAt < b.startsAt ? -1 : a.startsAt > b.startsAt ? 1 : 0);
