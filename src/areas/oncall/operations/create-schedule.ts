import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { invalid } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { isTimezone } from '../../../kernel/time-zone.ts';
import { checkParticipants } from '../engine/check-people.ts';
import { anchorAt } from '../rules/rotation.ts';
import { scheduleView } from '../views/schedules.ts';
import * as store from '../store/schedules.ts';

export const createSchedule = operation(oncall.createSchedule, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    if (!isTimezone(body.timezone)) invalid('timezone must be an IANA name, such as Europe/Paris');
    const at = await now(tx);
    const rotation = {
      timezone: body.timezone,
      participants: await checkParticipants(tx, ctx.org, body.participants),
      handoff: body.handoff,
    };
    const { anchorDate, anchorIndex } = anchorAt(rotation, at, 0);
    const schedule = await store.insertSchedule(tx, ctx.org, {
      name: body.name,
      ...rotation,
      anchor_date: anchorDate,
      anchor_index: anchorIndex,
    });
    await audit(tx, ctx, 'oncall.schedule.create', schedule, {
      name: body.name,
      timezone: body.timezone,
      participants: rotation.participants.length,
    });
    return created(scheduleView(schedule, [], at), `/oncall/schedules/${schedule.id}`);
  }),
);
