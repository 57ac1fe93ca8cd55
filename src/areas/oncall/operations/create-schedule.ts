import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { now } from '../../../kernel/time.ts';
import { createSchedule as create } from '../engine/schedules.ts';
import { scheduleView } from '../views/schedules.ts';

export const createSchedule = operation(oncall.createSchedule, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const at = await now(tx);
    const schedule = await create(tx, ctx.org, body, at);
    const { name, timezone, participants } = schedule;
    await audit(tx, ctx, 'oncall.schedule.create', schedule, { name, timezone, participants: participants.length });
    return created(scheduleView(schedule, [], at), `/oncall/schedules/${schedule.id}`);
  }),
);
