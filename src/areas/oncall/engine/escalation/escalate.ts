/**
 * Escalation of one incident: which step fires, whom it pages, and what follows if that person cannot be reached.
 *
 * - `escalate.ts`, the body of the job `oncall.step`, fires all due steps of a policy, pass by pass, and enqueues the next run.
 * - `responder.ts` finds the person of a step; `make-pages.ts` makes the pages of that person's rules within the limits.
 * - `unreached.ts` detects pages that all failed: the next rule, the next person of the rotation, then the next step.
 * - `restart.ts` starts a new round after exhaustion or a lost acknowledger, and sends notices to the acknowledger.
 * - `stale-alerts.ts` reports silent senders; `member-removal.ts` hands on the incidents of a removed member.
 *
 * A step, its pages, their jobs, the new position and the end of the step's own job are one transaction. The job fires nothing that is not
 * due, so any code may wake it at any time.
 */

import { memberToPage } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue, enqueueAll, type WantedJob } from '../../../../kernel/jobs/index.ts';
import { append } from '../../../../kernel/steps.ts';
import { advance, assertAdvancing, type EscalationState, type Policy } from '../../rules/escalation.ts';
import * as incidents from '../../store/incidents.ts';
import { stepsReached, usersPagedIn } from '../../store/pages.ts';
import { addAllEntries, type TimelineEntry } from '../../store/timeline.ts';
import { type Escalate, stepJob } from '../step.ts';
import { type HeldBack, heldBackEntries, makePages, type PageOccasion, type PageWriter } from './make-pages.ts';
import { responderOf } from './responder.ts';
import { pageAcknowledger, restartEscalation } from './restart.ts';
import { findUnreached, followNextRule } from './unreached.ts';

export type EscalationRow = incidents.IncidentRow & { now: string; has_pages: boolean };

/** Fires the due steps of one incident, moves on from people who cannot be reached, and schedules the next run. */
export const escalate: Escalate = async (tx, org, id, requestId) => {
  const incident = await incidents.lockForEscalation(tx, org, id);
  if (incident?.status === 'acknowledged') return checkAcknowledged(tx, org, incident);
  if (incident?.status !== 'open' || !incident.policy) return;
  const unreached = incident.step_given_up || !incident.has_pages ? undefined : await findUnreached(tx, org, incident);
  const follows = unreached !== undefined && (await followNextRule(tx, org, incident, unreached));
  if (unreached?.isPermanent && !follows) await runEscalation(tx, org, incident, await stateAfterUnreached(tx, org, incident), requestId);
  else if (incident.walk_state === 'walking') await runEscalation(tx, org, incident, escalationStateOf(incident), requestId);
};

/** Fires the due steps from `from` on and stores the new position. */
async function runEscalation(
  tx: Tx,
  org: string,
  incident: EscalationRow,
  from: EscalationState,
  requestId: string | undefined,
): Promise<void> {
  const { fired, state, jobs, lines } = await fireDueSteps(tx, org, incident, from, { requestId });
  const entries = lines.map((line) => ({ ...line, incidentId: incident.id }));
  await Promise.all([
    incidents.saveEscalation(tx, org, incident.id, incidents.escalationColumns(fired, state)),
    enqueueAll(tx, jobs),
    addAllEntries(tx, org, entries, incident.now),
  ]);
}

/** The result of the due steps. */
export interface FiredSteps {
  fired: incidents.FiredStep;
  /** The next position; undefined: the escalation is exhausted. */
  state: EscalationState | undefined;
  jobs: WantedJob[];
  lines: TimelineEntry[];
}

/** With a caller's `writer`, stops after the first step that pages a person: later steps read its pages from the database. */
export async function fireDueSteps(
  tx: Tx,
  org: string,
  incident: EscalationRow,
  from: EscalationState,
  { requestId, writer }: { requestId: string | undefined; writer?: PageWriter },
): Promise<FiredSteps> {
  const { id, now } = incident;
  const policy = incident.policy!;
  const at = Date.parse(now);
  let fired: incidents.FiredStep = {
    pass: incident.pass,
    step: incident.step,
    givenUp: incident.step_given_up,
    userId: incident.step_user,
  };
  let state = from;
  const { jobs, lines, held }: PendingWrites = { jobs: [], lines: [], held: [] };
  let isFirst = !incident.has_pages;
  const assertAdvance = assertAdvancing(policy);
  while (state.next && state.at <= at && (isFirst || !writer)) {
    assertAdvance(state);
    const occasion = { now, requestId, writer, ...(isFirst ? { isFirst } : {}) };
    const { userId, then } = await fireStep(tx, org, incident, policy, state, occasion, { jobs, lines, held });
    isFirst &&= userId === null;
    fired = { ...state.next, givenUp: userId === null, userId };
    state = then;
  }
  append(lines, heldBackEntries(held));
  const isOver = !state.next && state.at <= at;
  if (isOver) {
    const { words, data } = latenessOf(state, at);
    lines.push({
      kind: 'escalation_exhausted',
      message: `${exhaustedMessage(policy)}${words}`,
      data: { passes: policy.repeat + 1, ...data },
    });
  } else jobs.push({ job: stepJob, key: id, org, runAt: new Date(state.at).toISOString(), ...(requestId ? { requestId } : {}) });
  return { fired, state: isOver ? undefined : state, jobs, lines };
}

/** Rows that the steps collect; the caller writes them together at the end. */
interface PendingWrites {
  jobs: WantedJob[];
  lines: TimelineEntry[];
  held: HeldBack[];
}

/** Reminds the acknowledger when due. If a notice cannot reach the acknowledger, the escalation restarts. */
async function checkAcknowledged(tx: Tx, org: string, incident: EscalationRow): Promise<void> {
  const unreached = incident.notices ? await findUnreached(tx, org, incident) : undefined;
  if (unreached?.isPermanent && !(await followNextRule(tx, org, incident, unreached)))
    return restartEscalation(tx, org, incident, `${incident.acknowledged_by?.label ?? 'The acknowledger'} cannot be reached`);
  if (!incident.next_at) return;
  let next: string | undefined = incident.next_at;
  if (Date.parse(next) <= Date.parse(incident.now)) {
    await pageAcknowledger(tx, org, incident, `acknowledged at ${incident.acknowledged_at} and not resolved yet`);
    next = await incidents.scheduleNextReminder(tx, org, incident.id);
  }
  if (next) await enqueue(tx, stepJob, { key: incident.id, org, runAt: next });
}

/** The state for firing the last step again. Only earlier steps that reached a person count as waited. */
async function stateAfterUnreached(tx: Tx, org: string, { id, round, pass, step, policy, now }: EscalationRow): Promise<EscalationState> {
  const reached = await stepsReached(tx, org, { incident_id: id, round, pass });
  const waited = policy!.steps.reduce((sum, { waitSeconds }, i) => (i < step && reached.has(i) ? sum + waitSeconds : sum), 0);
  return { next: { pass, step }, at: Date.parse(now), waited };
}

export const escalationStateOf = (incident: incidents.IncidentRow): EscalationState => ({
  next: incident.next_pass === null ? undefined : { pass: incident.next_pass, step: incident.next_step! },
  at: Date.parse(incident.next_at!),
  waited: incident.pass_waited,
});

const exhaustedMessage = ({ name, repeat }: Policy) =>
  `Nobody acknowledged: the policy ${name} is walked through${repeat ? ` ${repeat + 1} times` : ''}. The incident stays open, and nobody else is paged`;

/** Lateness below this is not reported. */
const minReportedLatenessMs = 2_000;

/** Reports a step that fires late after downtime, so the timeline explains the gap. */
function latenessOf(due: EscalationState, now: number): { words: string; data: { lateSeconds?: number } } {
  const lateness = now - due.at;
  return lateness > minReportedLatenessMs
    ? { words: `, ${Math.round(lateness / 1000)} s late`, data: { lateSeconds: lateness / 1000 } }
    : { words: '', data: {} };
}

/** Says in the timeline when the next step fires. A step that follows at once needs no text. */
function nextStepSuffix({ next, at }: EscalationState, now: string): string {
  if (at <= Date.parse(now)) return '';
  const what = !next ? 'the policy is walked through' : next.step ? `step ${next.step + 1} follows` : `pass ${next.pass + 1} begins`;
  return `; unless somebody acknowledges, ${what} at ${new Date(at).toISOString()}`;
}

/** Fires one step: makes the responder's pages and adds the rest to `pending`. Returns the paged user and the next state. */
async function fireStep(
  tx: Tx,
  org: string,
  incident: incidents.IncidentRow,
  policy: Policy,
  state: EscalationState,
  { now, requestId, isFirst, writer }: Pick<PageOccasion, 'now' | 'requestId' | 'isFirst'> & { writer: PageWriter | undefined },
  pending: PendingWrites,
): Promise<{ userId: string | null; then: EscalationState }> {
  const { pass, step } = state.next!;
  const { target } = policy.steps[step]!;
  const { words: late, data: lateData } = latenessOf(state, Date.parse(now));
  const tried = new Set(isFirst ? [] : await usersPagedIn(tx, org, { incident_id: incident.id, round: incident.round, pass, step }));
  const advanceAfter = (reached: boolean) => {
    const then = advance(policy, state, reached, Date.parse(now));
    const nextAt = new Date(then.at).toISOString();
    return { then, words: nextStepSuffix(then, now), data: { pass, step, target, nextAt, ...lateData } };
  };
  for (;;) {
    const reached = await responderOf(tx, org, target, now, tried, memberToPage);
    if ('unreachedBecause' in reached) {
      const { then, words, data } = advanceAfter(false);
      const message = `Step ${step + 1} of ${policy.name} reached nobody: ${reached.unreachedBecause}${words || '; going on at once'}${late}`;
      pending.lines.push({ kind: 'nobody_on_call', message, data });
      return { userId: null, then };
    }
    const { member, label, because } = reached;
    const occasion = { incidentId: incident.id, round: incident.round, pass, step, now, requestId, ...(isFirst ? { isFirst } : {}) };
    const { jobs, lines, held } = await makePages(tx, org, occasion, reached, writer);
    const isPaged = jobs.length > 0 || held.length > 0;
    const { then, words, data } = advanceAfter(true);
    const message = `Step ${step + 1} of ${policy.name} pages ${label}${because ? `, for ${because}` : ''}${late}${words}`;
    if (isPaged) pending.lines.push({ kind: 'step_fired', message, data: { ...data, userId: member.id } });
    append(pending.lines, lines);
    append(pending.jobs, jobs);
    append(pending.held, held);
    if (isPaged) return { userId: member.id, then };
    tried.add(member.id); // not one page could be stored
  }
}
