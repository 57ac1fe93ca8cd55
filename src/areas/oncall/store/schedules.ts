import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import { onCallAt, type Rotation, turnsFrom } from '../rules/rotation.ts';
import type { Override, Person } from '../rules/types.ts';

const ScheduleRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  timezone: Type.String(),
  participants: Type.Array(Type.Object({ userId: Type.String(), label: Type.String() })),
  handoff: Type.Object({
    interval: Type.Union([Type.Literal('daily'), Type.Literal('weekly')]),
    dow: Type.Optional(Type.Integer()),
    time: Type.String(),
  }),
  anchor_date: Type.String(),
  anchor_index: Type.Integer(),
  created_at: Type.String(),
});
export type ScheduleRow = Static<typeof ScheduleRow>;

const OverrideRow = Type.Object({
  schedule_id: Type.String(),
  id: Type.String(),
  user_id: Type.String(),
  label: Type.String(),
  starts_at: Type.String(),
  ends_at: Type.String(),
});

export type OverrideRow = Static<typeof OverrideRow>;

const columns = sql`id, name, timezone, participants, handoff, anchor_date, anchor_index, created_at`;
const overrideColumns = sql`schedule_id, id, user_id, label, starts_at, ends_at`;

export const overrideOf = (o: OverrideRow): Override => ({
  id: o.id,
  userId: o.user_id,
  label: o.label,
  startsAt: o.starts_at,
  endsAt: o.ends_at,
});

export const rotationOf = (schedule: ScheduleRow): Rotation => ({
  timezone: schedule.timezone,
  participants: schedule.participants,
  handoff: schedule.handoff,
  anchorDate: schedule.anchor_date,
  anchorIndex: schedule.anchor_index,
});

export interface Rota {
  name: string;
  rotation: Rotation;
  overrides: Override[];
}

const scheduleNamed = (tx: Tx, org: string, id: string) => row(tx, ScheduleRow)`
  select ${columns} from oncall.schedule where org_id = ${org} and id = ${id}`;

/** At most 1,000 overrides are current or future; the rest of this limit is history. */
export const maxOverrides = 3_000;

export const hasSchedule = async (tx: Tx, org: string, id: string): Promise<boolean> =>
  (await run(tx)`select 1 from oncall.schedule where org_id = ${org} and id = ${id}`) > 0;

/** One schedule with its overrides between two instants. */
export async function rotaOf(tx: Tx, org: string, scheduleId: string, from: string, to: string): Promise<Rota | undefined> {
  const [schedule, overrides] = await Promise.all([
    scheduleNamed(tx, org, scheduleId),
    rows(tx, OverrideRow)`
      select ${overrideColumns} from oncall.schedule_override
       where org_id = ${org} and schedule_id = ${scheduleId} and ends_at > ${from} and starts_at < ${to}
       order by ends_at desc limit ${maxOverrides}`,
  ]);
  return schedule && { name: schedule.name, rotation: rotationOf(schedule), overrides: overrides.map(overrideOf) };
}

/** Several schedules, each with its next overrides between two instants, up to `limit`. */
export async function rotasOf(
  tx: Tx,
  org: string,
  ids: readonly string[],
  from: string,
  to: string,
  limit: number,
): Promise<Map<string, Rota>> {
  const [found, overrides] = await Promise.all([
    rows(tx, ScheduleRow)`select ${columns} from oncall.schedule where org_id = ${org} and id = any(${ids}::text[])`,
    rows(tx, OverrideRow)`
      select o.* from unnest(${ids}::text[]) s(id) cross join lateral (
        select ${overrideColumns} from oncall.schedule_override
         where org_id = ${org} and schedule_id = s.id and ends_at > ${from} and starts_at < ${to} order by ends_at limit ${limit}) o`,
  ]);
  const of = Map.groupBy(overrides, (o) => o.schedule_id);
  return new Map(found.map((s) => [s.id, { name: s.name, rotation: rotationOf(s), overrides: (of.get(s.id) ?? []).map(overrideOf) }]));
}

/**
 * The people to page in order: the person on call, then the others of the rotation. Only the effective override is read, so paging stays
 * fast with many overrides.
 */
export async function peopleOnCall(tx: Tx, org: string, scheduleId: string, at: string): Promise<Person[]> {
  const [schedule, newest] = await Promise.all([
    scheduleNamed(tx, org, scheduleId),
    rows(tx, OverrideRow)`
      select ${overrideColumns} from oncall.schedule_override
       where org_id = ${org} and schedule_id = ${scheduleId} and starts_at <= ${at} and ends_at > ${at} order by id desc limit 1`,
  ]);
  const first = schedule && onCallAt(rotationOf(schedule), newest.map(overrideOf), at);
  if (!first) return [];
  return [...new Map([first, ...turnsFrom(rotationOf(schedule), at)].map((person) => [person.userId, person])).values()];
}

const NameRow = Type.Object({ id: Type.String(), name: Type.String() });

/** Locks schedules for share: they cannot be deleted while the caller refers to them. */
export const shareSchedules = (tx: Tx, org: string, ids: readonly string[]) => rows(tx, NameRow)`
  select id, name from oncall.schedule where org_id = ${org} and id = any(${ids}::text[]) order by id for key share`;

export const scheduleNames = async (tx: Tx, org: string): Promise<ReadonlyMap<string, string>> =>
  new Map((await rows(tx, NameRow)`select id, name from oncall.schedule where org_id = ${org}`).map((s) => [s.id, s.name]));

export const schedules = (tx: Tx, org: string) =>
  rows(tx, ScheduleRow)`select ${columns} from oncall.schedule where org_id = ${org} order by id desc`;

/** Current and future overrides of all schedules, or of one. */
export const liveOverrides = (tx: Tx, org: string, scheduleId: string | null, at: string) => rows(tx, OverrideRow)`
  select ${overrideColumns} from oncall.schedule_override
   where org_id = ${org} and (${scheduleId}::text is null or schedule_id = ${scheduleId}) and ends_at > ${at} order by starts_at, id`;

export const lockSchedule = (tx: Tx, org: string, id: string) => row(tx, ScheduleRow)`
  select ${columns} from oncall.schedule where org_id = ${org} and id = ${id} for update`;

type NewSchedule = Omit<ScheduleRow, 'id' | 'created_at'>;

export const insertSchedule = async (tx: Tx, org: string, s: NewSchedule) =>
  (await row(tx, ScheduleRow)`
    insert into oncall.schedule (org_id, id, name, timezone, participants, handoff, anchor_date, anchor_index, created_at)
    values (${org}, kernel.new_id('sch'), ${s.name}, ${s.timezone}, ${JSON.stringify(s.participants)}, ${JSON.stringify(s.handoff)},
            ${s.anchor_date}, ${s.anchor_index}, kernel.now())
    returning ${columns}`)!;

export const updateSchedule = async (tx: Tx, org: string, id: string, s: NewSchedule) =>
  (await row(tx, ScheduleRow)`
    update oncall.schedule
       set name = ${s.name}, timezone = ${s.timezone}, participants = ${JSON.stringify(s.participants)}, handoff = ${JSON.stringify(s.handoff)},
           anchor_date = ${s.anchor_date}, anchor_index = ${s.anchor_index}
     where org_id = ${org} and id = ${id} returning ${columns}`)!;

export const deleteSchedule = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from oncall.schedule where org_id = ${org} and id = ${id}`;

/** Policies with a step that targets the schedule. */
export const policiesTargeting = (tx: Tx, org: string, scheduleId: string) => rows(tx, NameRow)`
  select id, name from oncall.policy
   where org_id = ${org} and steps @> ${JSON.stringify([{ target: { kind: 'schedule', id: scheduleId } }])}::jsonb order by id`;

/** Schedules whose rotation contains the user. */
export const schedulesWith = (tx: Tx, org: string, userId: string) => rows(tx, ScheduleRow)`
  select ${columns} from oncall.schedule where org_id = ${org} and participants @> ${JSON.stringify([{ userId }])}::jsonb order by id for update`;

/** Policies with a step that names the user. */
export const policiesNaming = (tx: Tx, org: string, userId: string) => rows(tx, NameRow)`
  select id, name from oncall.policy
   where org_id = ${org} and steps @> ${JSON.stringify([{ target: { kind: 'user', id: userId } }])}::jsonb order by id`;

const LeftRow = Type.Object({ schedule_id: Type.String() });
/** Deletes a user's current and future overrides. */
export const deleteOverridesOf = (tx: Tx, org: string, userId: string) => rows(tx, LeftRow)`
  delete from oncall.schedule_override where org_id = ${org} and user_id = ${userId} and ends_at > kernel.now() returning schedule_id`;

/** Counts current and future overrides. */
export const countOverrides = async (tx: Tx, org: string, scheduleId: string): Promise<number> =>
  (await row(tx, Type.Object({ count: Type.Integer() }))`
    select count(*)::int as count from oncall.schedule_override
     where org_id = ${org} and schedule_id = ${scheduleId} and ends_at > (select kernel.now())`)!.count;

export const insertOverride = async (tx: Tx, org: string, scheduleId: string, o: Omit<Override, 'id'>) =>
  (await row(tx, OverrideRow)`
    insert into oncall.schedule_override (org_id, schedule_id, id, user_id, label, starts_at, ends_at, created_at)
    values (${org}, ${scheduleId}, kernel.new_id('ovr'), ${o.userId}, ${o.label}, ${o.startsAt}, ${o.endsAt}, kernel.now())
    returning ${overrideColumns}`)!;

export const deleteOverride = (tx: Tx, org: string, scheduleId: string, id: string) => run(tx)`
  delete from oncall.schedule_override where org_id = ${org} and schedule_id = ${scheduleId} and id = ${id}`;
