import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { invalid, notFound } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { isTimezone } from '../../../kernel/time-zone.ts';
import { checkParticipants } from '../engine/check-people.ts';
import { reanchored } from '../rules/rotation.ts';
import { scheduleView } from '../views/schedules.ts';
import * as store from '../store/schedules.ts';

export const updateSchedule = operation(oncall.updateSchedule, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const schedule = (await store.lockSchedule(tx, ctx.org, params.id)) ?? notFound('schedule');
    const at = await now(tx);
    const overrides = await store.liveOverrides(tx, ctx.org, schedule.id, at);
    if (!Object.keys(body).length) return ok(scheduleView(schedule, overrides, at));
    if (body.timezone !== undefined && !isTimezone(body.timezone)) invalid('timezone must be an IANA name, such as Europe/Paris');

    const before = store.rotationOf(schedule);
    const after = reanchored(
      before,
      {
        timezone: body.timezone ?? before.timezone,
        participants: body.participants ? await checkParticipants(tx, ctx.org, body.participants) : before.participants,
        handoff: body.handoff ?? before.handoff,
      },
      at,
    );
    const changed = await store.updateSchedule(tx, ctx.org, schedule.id, {
      name: body.name ?? schedule.name,
      timezone: after.timezone,
      participants: [...after.participants],
      handoff: after.handoff as typeof schedule.handoff,
      anchor_date: after.anchorDate,
      anchor_index: after.anchorIndex,
    });
    await audit(tx, ctx, 'oncall.schedule.update', schedule, body);
    return ok(scheduleView(changed, overrides, at));
  }),
);
