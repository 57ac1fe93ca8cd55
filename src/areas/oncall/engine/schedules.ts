import { memberOf, membersOf } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid, notFound } from '../../../kernel/errors.ts';
import { isTimezone } from '../../../kernel/time-zone.ts';
import { anchorAt, reanchored } from '../rules/rotation.ts';
import type { Person } from '../rules/types.ts';
import { isAtLimit, limitOf } from '../store/limits.ts';
import * as store from '../store/schedules.ts';

type ScheduleFields = Pick<store.ScheduleRow, 'name' | 'timezone' | 'participants' | 'handoff'>;

/** The first participant's turn begins at `at`. */
export async function createSchedule(tx: Tx, org: string, wanted: ScheduleFields, at: string): Promise<store.ScheduleRow> {
  checkTimezone(wanted.timezone);
  const { name, timezone, handoff } = wanted;
  const rotation = { timezone, participants: await checkParticipants(tx, org, wanted.participants), handoff };
  const { anchorDate, anchorIndex } = anchorAt(rotation, at, 0);
  if (await isAtLimit(tx, org, 'schedules'))
    conflict(`the organization has ${limitOf('schedules')} schedules, which is the most; delete one first`);
  return store.insertSchedule(tx, org, { name, ...rotation, anchor_date: anchorDate, anchor_index: anchorIndex });
}

/**
 * `schedule` is locked by this transaction. The person on call at `at` stays on call, unless they leave the rotation or its order changes.
 */
export async function updateSchedule(
  tx: Tx,
  org: string,
  schedule: store.ScheduleRow,
  changes: { [K in keyof ScheduleFields]?: ScheduleFields[K] | undefined },
  at: string,
): Promise<store.ScheduleRow> {
  const { name = schedule.name, timezone = schedule.timezone, handoff = schedule.handoff } = changes;
  if (changes.timezone !== undefined) checkTimezone(changes.timezone);
  const participants = changes.participants ? await checkParticipants(tx, org, changes.participants) : schedule.participants;
  const { anchorDate, anchorIndex } = reanchored(store.rotationOf(schedule), { timezone, participants, handoff }, at);
  return store.updateSchedule(tx, org, schedule.id, {
    name,
    timezone,
    participants,
    handoff,
    anchor_date: anchorDate,
    anchor_index: anchorIndex,
  });
}

function checkTimezone(name: string): void {
  if (!isTimezone(name)) invalid('timezone must be an IANA name, such as Europe/Paris');
}

/** Refused while a policy has a step for the schedule. */
export async function deleteSchedule(tx: Tx, org: string, schedule: store.ScheduleRow): Promise<void> {
  const policies = await store.policiesTargeting(tx, org, schedule.id);
  if (policies.length)
    conflict(`the schedule ${schedule.name} is still a target of ${policies.map((p) => p.name).join(', ')}; change those policies first`);
  await store.deleteSchedule(tx, org, schedule.id);
}

/** One answer about a year of shifts, or a calendar feed, contains all of these. */
const maxOverridesPerSchedule = 1_000;

/** `schedule` is locked by this transaction. */
export async function addOverride(
  tx: Tx,
  org: string,
  schedule: store.ScheduleRow,
  wanted: Person & { startsAt: string; endsAt: string },
  at: string,
): Promise<store.OverrideRow> {
  const [startsAt, endsAt] = [new Date(wanted.startsAt).toISOString(), new Date(wanted.endsAt).toISOString()];
  if (endsAt <= startsAt) invalid('endsAt must be after startsAt');
  if (endsAt <= at) invalid('endsAt lies in the past, where nobody is paged any more; send a later end');
  const person = await checkPerson(tx, org, wanted);
  if ((await store.countOverrides(tx, org, schedule.id)) >= maxOverridesPerSchedule)
    conflict(`the schedule ${schedule.name} has 1,000 overrides under way and ahead; remove some first`);
  if (await isAtLimit(tx, org, 'overrides'))
    conflict(`the organization has ${limitOf('overrides')} overrides under way and ahead, which is the most; remove some first`);
  return store.insertOverride(tx, org, schedule.id, { ...person, startsAt, endsAt });
}

export async function removeOverride(tx: Tx, org: string, scheduleId: string, id: string): Promise<void> {
  if (!(await store.lockSchedule(tx, org, scheduleId))) notFound('schedule');
  if (!(await store.deleteOverride(tx, org, scheduleId, id))) notFound('override');
}

/** Every participant must be a member. An empty label becomes the member's name. */
async function checkParticipants(tx: Tx, org: string, wanted: readonly Person[]): Promise<Person[]> {
  const members = await membersOf(tx, org);
  return wanted.map(({ userId, label }, i) => {
    const member =
      members.get(userId) ??
      invalid(`participants.${i}.userId is no member of the organization; GET /api/v1/organization/members lists them`);
    return { userId, label: label.trim() || member.name };
  });
}

async function checkPerson(tx: Tx, org: string, { userId, label }: Person): Promise<Person> {
  const member =
    (await memberOf(tx, org, userId)) ?? invalid('userId is no member of the organization; GET /api/v1/organization/members lists them');
  return { userId, label: label.trim() || member.name };
}
