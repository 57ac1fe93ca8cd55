import { memberToPage } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue, enqueueAll, type WantedJob } from '../../../../kernel/jobs/index.ts';
import { advance, type Policy, stepByStep, type Walk } from '../../rules/walk.ts';
import * as incidents from '../../store/incidents.ts';
import { pagedIn, stepsReached } from '../../store/pages.ts';
import { type Entry, noteAll } from '../../store/timeline.ts';
import { stepJob, type WalkOn } from '../step.ts';
import { tellAcknowledger, walkAgain } from './again.ts';
import { findUnreached, followNextRule } from './hand-on.ts';
import { type Held, type Ledger, makePages, type Occasion, tellHeld } from './make-pages.ts';
import { responderOf } from './responder.ts';

export type WalkRow = incidents.IncidentRow & { now: string; has_pages: boolean };

/** Fires what is due of one incident's walk, hands on what reached nobody, and says when it goes on. */
export const walkOn: WalkOn = async (tx, org, id, requestId) => {
  const incident = await incidents.lockWalk(tx, org, id);
  if (incident?.status === 'acknowledged') return lookAfterAcknowledged(tx, org, incident);
  if (incident?.status !== 'open' || !incident.policy) return;
  const unreached = incident.step_given_up || !incident.has_pages ? undefined : await findUnreached(tx, org, incident);
  const follows = unreached !== undefined && (await followNextRule(tx, org, incident, unreached));
  if (unreached?.isForGood && !follows) await goWalk(tx, org, incident, await standingAgain(tx, org, incident), requestId);
  else if (incident.walk_state === 'walking') await goWalk(tx, org, incident, standing(incident), requestId);
};

/** From where the walk stands on, as far as it is due. */
async function goWalk(tx: Tx, org: string, incident: WalkRow, from: Walk, requestId: string | undefined): Promise<void> {
  const { fired, walk, jobs, lines } = await fireDue(tx, org, incident, from, { requestId });
  const entries = lines.map((line) => ({ ...line, incidentId: incident.id }));
  await Promise.all([
    incidents.saveWalk(tx, org, incident.id, incidents.walkedTo(fired, walk)),
    enqueueAll(tx, jobs),
    noteAll(tx, org, entries, incident.now),
  ]);
}

/** What the steps that were due have come to. */
export interface Walked {
  fired: incidents.Fired;
  /** How it goes on; undefined: it is over. */
  walk: Walk | undefined;
  jobs: WantedJob[];
  lines: Entry[];
}

/** With a ledger of the caller's own, only as far as the first step that pages somebody: those after it look at its pages. */
export async function fireDue(
  tx: Tx,
  org: string,
  incident: WalkRow,
  from: Walk,
  { requestId, ledger }: { requestId: string | undefined; ledger?: Ledger },
): Promise<Walked> {
  const { id, now } = incident;
  const policy = incident.policy!;
  const at = Date.parse(now);
  let fired: incidents.Fired = { pass: incident.pass, step: incident.step, givenUp: incident.step_given_up, userId: incident.step_user };
  let walk = from;
  const { jobs, lines, held }: Todo = { jobs: [], lines: [], held: [] };
  let isFirst = !incident.has_pages;
  const moveOn = stepByStep(policy);
  while (walk.next && walk.at <= at && (isFirst || !ledger)) {
    moveOn(walk);
    const occasion = { now, requestId, ledger, ...(isFirst ? { isFirst } : {}) };
    const { userId, then } = await fire(tx, org, incident, policy, walk, occasion, { jobs, lines, held });
    isFirst &&= userId === null;
    fired = { ...walk.next, givenUp: userId === null, userId };
    walk = then;
  }
  lines.push(...tellHeld(held));
  const isOver = !walk.next && walk.at <= at;
  if (isOver) {
    const { words, data } = tellLate(walk, at);
    lines.push({ kind: 'escalation_exhausted', message: `${exhausted(policy)}${words}`, data: { passes: policy.repeat + 1, ...data } });
  } else jobs.push({ job: stepJob, key: id, org, runAt: new Date(walk.at).toISOString(), ...(requestId ? { requestId } : {}) });
  return { fired, walk: isOver ? undefined : walk, jobs, lines };
}

/** What the steps of a walk leave to be written: together, at its end. */
interface Todo {
  jobs: WantedJob[];
  lines: Entry[];
  held: Held[];
}

/**
 * Whoever acknowledged is reminded when their time has come, and must be reached when there is something to tell them: else the
 * incident is nobody's, and is walked again.
 */
async function lookAfterAcknowledged(tx: Tx, org: string, incident: WalkRow): Promise<void> {
  const unreached = incident.notices ? await findUnreached(tx, org, incident) : undefined;
  if (unreached?.isForGood && !(await followNextRule(tx, org, incident, unreached)))
    return walkAgain(tx, org, incident, `${incident.acknowledged_by?.label ?? 'Whoever acknowledged'} cannot be reached`);
  if (!incident.next_at) return;
  let next: string | undefined = incident.next_at;
  if (Date.parse(next) <= Date.parse(incident.now)) {
    await tellAcknowledger(tx, org, incident, `acknowledged at ${incident.acknowledged_at} and not resolved yet`);
    next = await incidents.putOffReminder(tx, org, incident.id);
  }
  if (next) await enqueue(tx, stepJob, { key: incident.id, org, runAt: next });
}

/** At the step that fired last, which reached nobody: what the pass has waited is what its earlier steps waited for somebody. */
async function standingAgain(tx: Tx, org: string, { id, round, pass, step, policy, now }: WalkRow): Promise<Walk> {
  const reached = await stepsReached(tx, org, { incident_id: id, round, pass });
  const waited = policy!.steps.reduce((sum, { waitSeconds }, i) => (i < step && reached.has(i) ? sum + waitSeconds : sum), 0);
  return { next: { pass, step }, at: Date.parse(now), waited };
}

export const standing = (incident: incidents.IncidentRow): Walk => ({
  next: incident.next_pass === null ? undefined : { pass: incident.next_pass, step: incident.next_step! },
  at: Date.parse(incident.next_at!),
  waited: incident.pass_waited,
});

const exhausted = ({ name, repeat }: Policy) =>
  `Nobody acknowledged: the policy ${name} is walked through${repeat ? ` ${repeat + 1} times` : ''}. The incident stays open, and nobody else is paged`;

/** Later than this is worth telling. */
const lateMs = 2_000;

/** What was due while the server was away says so: the minutes before it are explained. */
function tellLate(due: Walk, now: number): { words: string; data: { lateSeconds?: number } } {
  const lateness = now - due.at;
  return lateness > lateMs
    ? { words: `, ${Math.round(lateness / 1000)} s late`, data: { lateSeconds: lateness / 1000 } }
    : { words: '', data: {} };
}

/**
 * When the walk goes on after a step, for the timeline: whoever reads it knows until when nobody else is paged, and why. What comes at
 * once needs no words.
 */
function tellNext({ next, at }: Walk, now: string): string {
  if (at <= Date.parse(now)) return '';
  const what = !next ? 'the policy is walked through' : next.step ? `step ${next.step + 1} follows` : `pass ${next.pass + 1} begins`;
  return `; unless somebody acknowledges, ${what} at ${new Date(at).toISOString()}`;
}

/** One step: its responder's pages; the rest is added to `todo`. Whom it paged, and how the walk goes on. */
async function fire(
  tx: Tx,
  org: string,
  incident: incidents.IncidentRow,
  policy: Policy,
  walk: Walk,
  { now, requestId, isFirst, ledger }: Pick<Occasion, 'now' | 'requestId' | 'isFirst'> & { ledger: Ledger | undefined },
  todo: Todo,
): Promise<{ userId: string | null; then: Walk }> {
  const { pass, step } = walk.next!;
  const { target } = policy.steps[step]!;
  const { words: late, data: lateData } = tellLate(walk, Date.parse(now));
  const tried = new Set(isFirst ? [] : await pagedIn(tx, org, { incident_id: incident.id, round: incident.round, pass, step }));
  const goOn = (reached: boolean) => {
    const then = advance(policy, walk, reached, Date.parse(now));
    const nextAt = new Date(then.at).toISOString();
    return { then, words: tellNext(then, now), data: { pass, step, target, nextAt, ...lateData } };
  };
  for (;;) {
    const reached = await responderOf(tx, org, target, now, tried, memberToPage);
    if ('nobody' in reached) {
      const { then, words, data } = goOn(false);
      const message = `Step ${step + 1} of ${policy.name} reached nobody: ${reached.nobody}${words || '; going on at once'}${late}`;
      todo.lines.push({ kind: 'nobody_on_call', message, data });
      return { userId: null, then };
    }
    const { member, label, because } = reached;
    const occasion = { incidentId: incident.id, round: incident.round, pass, step, now, requestId, ...(isFirst ? { isFirst } : {}) };
    const { jobs, lines, held } = await makePages(tx, org, occasion, reached, ledger);
    const isPaged = jobs.length > 0 || held.length > 0;
    const { then, words, data } = goOn(true);
    const message = `Step ${step + 1} of ${policy.name} pages ${label}${because ? `, for ${because}` : ''}${late}${words}`;
    if (isPaged) todo.lines.push({ kind: 'step_fired', message, data: { ...data, userId: member.id } });
    todo.lines.push(...lines);
    todo.jobs.push(...jobs);
    todo.held.push(...held);
    if (isPaged) return { userId: member.id, then };
    tried.add(member.id); // not one page could be put on record
  }
}
