import Type, { type Static } from 'typebox';
import { type Actor, audit } from '../../../../identity/audit.ts';
import { lockLeaving } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue, type Job, job } from '../../../../kernel/jobs/index.ts';
import { now } from '../../../../kernel/time.ts';
import { onCallAt, reanchored } from '../../rules/rotation.ts';
import * as incidents from '../../store/incidents.ts';
import { cancelQueuedTo } from '../../store/pages.ts';
import * as schedules from '../../store/schedules.ts';
import { note, noteAll } from '../../store/timeline.ts';
import { wakeWalk } from '../step.ts';
import { walkAgain } from './again.ts';

/** Incidents that the removal itself hands on; `leaveJob` hands on the others, so many in each transaction. */
const inRemoval = 100;
const inJob = 25;

const Leaving = Type.Object({
  userId: Type.String(),
  label: Type.String(),
  /** When they were removed: what they acknowledge as a member once more stays theirs. */
  leftAt: Type.String(),
  /** The last incident that was handed on. */
  after: Type.String(),
});
type Leaving = Static<typeof Leaving>;

/**
 * Hands on a slice of the incidents of somebody who was removed, and leaves a job for the next one behind whatever else is due in the lane.
 * Safe to run twice: the slice, its end and the next job are one transaction.
 */
export const leaveJob: Job<Leaving, unknown> = job('oncall.leave', { lane: 'page', payload: Leaving, maxAttempts: 10_000 }, (run) =>
  run.finishWith((tx) => handOnSlice(tx, run.org!, run.payload, inJob)),
);

/**
 * Takes somebody who leaves the organization off call: rotations go on with the next in line, what they stand in for falls back, and
 * incidents that waited for them, or that they acknowledged, are handed on. Says what that changed, in sentences for whoever removes them.
 */
export async function leaveOncall(tx: Tx, by: Actor, member: { id: string; email: string; name: string }): Promise<string[]> {
  const org = by.org;
  await lockLeaving(tx, org, member.id); // what is opened for them at this moment is there to be handed on
  const at = await now(tx);
  const told: string[] = [];
  const stoodIn = Map.groupBy(await schedules.deleteOverridesOf(tx, org, member.id), (o) => o.schedule_id);
  const names = stoodIn.size ? await schedules.scheduleNames(tx, org) : new Map<string, string>();
  for (const [id, removed] of stoodIn) {
    told.push(`${removed.length} overrides of theirs in the schedule ${names.get(id) ?? id} are removed`);
    await audit(tx, by, 'oncall.override.delete', { id }, { user: member.id, overrides: removed.length, because: 'the member is removed' });
  }
  for (const schedule of await schedules.schedulesWith(tx, org, member.id)) told.push(await leaveRotation(tx, by, schedule, member.id, at));
  for (const policy of await schedules.policiesNaming(tx, org, member.id))
    told.push(`the policy ${policy.name} still names them; it goes on to its next step at once there, so change it`);
  const label = member.name || member.email;
  const { handed, goesOn } = await handOnSlice(tx, org, { userId: member.id, label, leftAt: at, after: '' }, inRemoval);
  told.push(...handed.map(({ title }) => `the incident “${title}” is handed on`));
  if (goesOn) told.push(`further incidents of theirs are handed on after these ${inRemoval}; the timeline of each says so`);
  const canceled = Map.groupBy(await cancelQueuedTo(tx, org, member.id), (page) => page.incident_id);
  const lines = [...canceled].map(([incidentId, { length: n }]) => ({
    incidentId,
    kind: 'page_canceled',
    message: `${n} ${n > 1 ? 'pages' : 'page'} to ${label} still to go out ${n > 1 ? 'are' : 'is'} canceled: they were removed from the organization`,
    data: { count: n, userId: member.id },
  }));
  await noteAll(tx, org, lines);
  return told;
}

async function leaveRotation(tx: Tx, by: Actor, schedule: schedules.ScheduleRow, userId: string, at: string): Promise<string> {
  const before = schedules.rotationOf(schedule);
  const participants = schedule.participants.filter((p) => p.userId !== userId);
  const { timezone, handoff } = before;
  const after = reanchored(before, { timezone, handoff, participants }, at);
  await schedules.updateSchedule(tx, by.org, schedule.id, {
    ...schedule,
    participants,
    anchor_date: after.anchorDate,
    anchor_index: after.anchorIndex,
  });
  const wasOnCall = onCallAt(before, [], at)?.userId === userId;
  const next = onCallAt(after, [], at);
  const detail = { participants: participants.length, left: userId, ...(wasOnCall ? { onCallNow: next?.userId ?? null } : {}) };
  await audit(tx, by, 'oncall.schedule.update', schedule, detail);
  if (!next) return `nobody is left in the schedule ${schedule.name}; add somebody`;
  return wasOnCall ? `they were on call in the schedule ${schedule.name}; ${next.label} is now` : `they left the schedule ${schedule.name}`;
}

/** Incidents in the order of their ids. When there may be more, a job goes on after the last one. */
async function handOnSlice(tx: Tx, org: string, leaving: Leaving, limit: number) {
  const { userId, label, leftAt: until, after } = leaving;
  const handed = await incidents.incidentsOfPerson(tx, org, { userId, after, until, limit });
  for (const incident of handed) await handOnIncident(tx, org, incident, userId, label);
  const goesOn = handed.length === limit;
  const payload = { ...leaving, after: handed.at(-1)?.id ?? after };
  if (goesOn) await enqueue(tx, leaveJob, { key: `${org}:${userId}:${until}`, org, payload });
  return { handed, goesOn };
}

/** The incident is locked. */
async function handOnIncident(tx: Tx, org: string, incident: incidents.IncidentRow, userId: string, label: string): Promise<void> {
  if (incident.status === 'acknowledged')
    return walkAgain(tx, org, incident, `${label}, who acknowledged, was removed from the organization`);
  await incidents.passOver(tx, org, incident.id);
  await wakeWalk(tx, org, incident.id);
  await note(tx, org, incident.id, {
    kind: 'responder_left',
    message: `${label} was removed from the organization; the next is paged`,
    data: { userId },
  });
}
