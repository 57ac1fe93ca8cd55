import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { now } from '../../../kernel/time.ts';
import * as store from '../store/schedules.ts';
import { scheduleView } from '../views/schedules.ts';

export const listSchedules = operation(oncall.listSchedules, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const at = await now(tx);
    const overrides = Map.groupBy(await store.liveOverrides(tx, ctx.org, null, at), (o) => o.schedule_id);
    return ok({ schedules: (await store.schedules(tx, ctx.org)).map((s) => scheduleView(s, overrides.get(s.id) ?? [], at)) });
  }),
);
