import Type, { type Static } from 'typebox';
import { type Actor, audit } from '../../../../identity/audit.ts';
import { lockForRemoval } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue, type Job, job } from '../../../../kernel/jobs/index.ts';
import { append } from '../../../../kernel/steps.ts';
import { now } from '../../../../kernel/time.ts';
import { onCallAt, reanchored } from '../../rules/rotation.ts';
import * as incidents from '../../store/incidents.ts';
import { cancelQueuedTo, lastQueuedTo } from '../../store/pages.ts';
import * as schedules from '../../store/schedules.ts';
import { addAllEntries, addEntries } from '../../store/timeline.ts';
import { wakeEscalation } from '../step.ts';
import { restartEscalation } from './restart.ts';

/** Incidents handed on and pages canceled in the removal's own transaction; then per transaction of `leaveJob`. */
const removalLimits = { incidents: 100, pages: 500 };
const jobLimits = { incidents: 25, pages: 500 };

const Leaving = Type.Object({
  userId: Type.String(),
  label: Type.String(),
  /** Time of the removal. An incident that the person acknowledges later, as a member again, stays with that person. */
  leftAt: Type.String(),
  /** The last incident handed on so far. */
  after: Type.String(),
  /** The last page queued for the person at removal. Later pages belong to a new membership. */
  lastPage: Type.Optional(Type.String()),
});
type Leaving = Static<typeof Leaving>;

/**
 * Hands on a slice of a removed member's incidents, then cancels a slice of the pages to that person, and enqueues itself for the next
 * slice behind other due work. Safe to run twice: the slice, its end and the next job are one transaction. A page that falls due before its
 * slice is canceled by its own job.
 */
export const leaveJob: Job<Leaving, unknown> = job('oncall.leave', { lane: 'page', payload: Leaving, maxAttempts: 10_000 }, (run) =>
  run.finishWith((tx) => leaveSlice(tx, run.org!, run.payload, jobLimits)),
);

/**
 * Takes a member off call on removal. Rotations continue with the next person, and the member's overrides are deleted. Incidents that
 * waited for the member, or that the member acknowledged, are handed on. Returns sentences for the person who removes the member.
 */
export async function leaveOncall(tx: Tx, by: Actor, member: { id: string; email: string; name: string }): Promise<string[]> {
  const org = by.org;
  await lockForRemoval(tx, org, member.id); // waits for incidents that open for the member at this moment
  const at = await now(tx);
  const sentences: string[] = [];
  const overridesBySchedule = Map.groupBy(await schedules.deleteOverridesOf(tx, org, member.id), (o) => o.schedule_id);
  const names = overridesBySchedule.size ? await schedules.scheduleNames(tx, org) : new Map<string, string>();
  for (const [id, removed] of overridesBySchedule) {
    sentences.push(`${removed.length} overrides of theirs in the schedule ${names.get(id) ?? id} are removed`);
    await audit(tx, by, 'oncall.override.delete', { id }, { user: member.id, overrides: removed.length, because: 'the member is removed' });
  }
  for (const schedule of await schedules.schedulesWith(tx, org, member.id))
    sentences.push(await leaveRotation(tx, by, schedule, member.id, at));
  for (const policy of await schedules.policiesNaming(tx, org, member.id))
    sentences.push(`the policy ${policy.name} still names them; it goes on to its next step at once there, so change it`);
  const label = member.name || member.email;
  const lastPage = await lastQueuedTo(tx, org, member.id);
  const leaving = { userId: member.id, label, leftAt: at, after: '', ...(lastPage ? { lastPage } : {}) };
  const { handedOn, hasMore } = await leaveSlice(tx, org, leaving, removalLimits);
  if (hasMore)
    sentences.push(`further incidents of theirs are handed on after the first ${removalLimits.incidents}; the timeline of each says so`);
  append(
    sentences,
    handedOn.map(({ title }) => `the incident “${title}” is handed on`),
  );
  return sentences.length <= maxSentences
    ? sentences
    : [...sentences.slice(0, maxSentences - 1), `there are ${sentences.length - maxSentences + 1} changes more`];
}

/** Sentences returned: the audit log keeps no longer list. */
const maxSentences = 20;

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

/** Incidents in id order first, then pages. A job continues if there may be more of either. */
async function leaveSlice(tx: Tx, org: string, leaving: Leaving, limit: typeof jobLimits) {
  const { userId, label, leftAt: until, after } = leaving;
  const handedOn = await incidents.incidentsOfPerson(tx, org, { userId, after, until, limit: limit.incidents });
  for (const incident of handedOn) await handOnIncident(tx, org, incident, userId, label);
  const hasMore = handedOn.length === limit.incidents;
  const canceled = hasMore ? 0 : await cancelPages(tx, org, leaving, limit.pages);
  const payload = { ...leaving, after: handedOn.at(-1)?.id ?? after };
  if (hasMore || canceled === limit.pages) await enqueue(tx, leaveJob, { key: `${org}:${userId}:${until}`, org, payload });
  return { handedOn, hasMore };
}

async function cancelPages(tx: Tx, org: string, { userId, label, lastPage }: Leaving, limit: number): Promise<number> {
  if (lastPage === undefined) return 0;
  const canceled = await cancelQueuedTo(tx, org, userId, lastPage, limit);
  const lines = [...Map.groupBy(canceled, (page) => page.incident_id)].map(([incidentId, { length: n }]) => ({
    incidentId,
    kind: 'page_canceled',
    message: `${n} ${n > 1 ? 'pages' : 'page'} to ${label} still to go out ${n > 1 ? 'are' : 'is'} canceled: they were removed from the organization`,
    data: { count: n, userId },
  }));
  await addAllEntries(tx, org, lines);
  return canceled.length;
}

/** The incident is locked. */
async function handOnIncident(tx: Tx, org: string, incident: incidents.IncidentRow, userId: string, label: string): Promise<void> {
  if (incident.status === 'acknowledged')
    return restartEscalation(tx, org, incident, `${label}, who acknowledged, was removed from the organization`);
  await incidents.repeatLastStep(tx, org, incident.id);
  await wakeEscalation(tx, org, incident.id);
  await addEntries(tx, org, incident.id, {
    kind: 'responder_left',
    message: `${label} was removed from the organization; the next is paged`,
    data: { userId },
  });
}
