import { type Actor, audit } from '../../../../identity/audit.ts';
import { lockLeaving } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import { onCallAt, reanchored } from '../../rules/rotation.ts';
import * as incidents from '../../store/incidents.ts';
import { cancelQueuedTo } from '../../store/pages.ts';
import * as schedules from '../../store/schedules.ts';
import { note, noteAll } from '../../store/timeline.ts';
import { wakeWalk } from '../step.ts';
import { walkAgain } from './again.ts';

/** So many incidents are handed on at once; what is left is found when its next step, alert or reminder comes. */
const mostIncidents = 100;

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
  for (const incident of await incidents.incidentsOfPerson(tx, org, member.id, mostIncidents)) {
    told.push(`the incident “${incident.title}” is handed on`);
    await handOnIncident(tx, org, incident, member.id, label);
  }
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
