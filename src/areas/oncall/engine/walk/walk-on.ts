import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueue } from '../../../../kernel/jobs/index.ts';
import { advance, type Policy, stepByStep, type Walk } from '../../rules/walk.ts';
import * as incidents from '../../store/incidents.ts';
import { note } from '../../store/timeline.ts';
import { stepJob, type WalkOn } from '../step.ts';
import { type Held, makePages, tellHeld } from './make-pages.ts';
import { responderOf } from './responder.ts';

/** Fires what is due of one incident's walk, and says when it goes on. */
export const walkOn: WalkOn = async (tx, org, id, requestId) => {
  const incident = await incidents.lockWalk(tx, org, id);
  if (incident?.status !== 'open' || incident.walk_state !== 'walking' || !incident.policy) return;
  const { now } = incident;
  const at = Date.parse(now);
  let fired = { pass: incident.pass, step: incident.step };
  let walk: Walk = standing(incident);
  const held: Held[] = [];
  const moveOn = stepByStep(incident.policy);
  while (walk.next && walk.at <= at) {
    moveOn(walk);
    fired = walk.next;
    const reached = await fire(tx, org, incident, incident.policy, walk, now, requestId, held);
    walk = advance(incident.policy, walk, reached, at);
  }
  await note(tx, org, id, ...tellHeld(held));
  if (!walk.next && walk.at <= at) {
    await incidents.saveWalk(tx, org, id, fired, undefined);
    await note(tx, org, id, {
      kind: 'escalation_exhausted',
      message: exhausted(incident.policy),
      data: { passes: incident.policy.repeat + 1 },
    });
    return;
  }
  await Promise.all([
    incidents.saveWalk(tx, org, id, fired, walk),
    enqueue(tx, stepJob, { key: id, org, runAt: new Date(walk.at).toISOString(), ...(requestId ? { requestId } : {}) }),
  ]);
};

const standing = (incident: incidents.IncidentRow): Walk => ({
  next: incident.next_pass === null ? undefined : { pass: incident.next_pass, step: incident.next_step! },
  at: Date.parse(incident.next_at!),
  waited: incident.pass_waited,
});

const exhausted = ({ name, repeat }: Policy) =>
  `Nobody acknowledged: the policy ${name} is walked through${repeat ? ` ${repeat + 1} times` : ''}. The incident stays open, and nobody else is paged`;

/** Later than this is worth telling. */
const lateMs = 2_000;

/** One step: its responder's pages, and a line about it; what the limits hold back is added to `held`. False: it reached nobody. */
async function fire(
  tx: Tx,
  org: string,
  incident: incidents.IncidentRow,
  policy: Policy,
  walk: Walk,
  now: string,
  requestId: string | undefined,
  held: Held[],
): Promise<boolean> {
  const { pass, step } = walk.next!;
  const { target } = policy.steps[step]!;
  const lateness = Date.parse(now) - walk.at;
  const late = lateness > lateMs ? `, ${Math.round(lateness / 1000)} s late` : '';
  const data = { pass, step, target, ...(late ? { lateSeconds: lateness / 1000 } : {}) };
  const reached = await responderOf(tx, org, target, now);
  if ('nobody' in reached) {
    await note(tx, org, incident.id, {
      kind: 'nobody_on_call',
      message: `Step ${step + 1} of ${policy.name} reached nobody: ${reached.nobody}; going on at once${late}`,
      data,
    });
    return false;
  }
  const { member, label } = reached;
  const { lines, held: back } = await makePages(
    tx,
    org,
    { incidentId: incident.id, round: incident.round, pass, step, now, requestId },
    reached,
  );
  held.push(...back);
  await note(
    tx,
    org,
    incident.id,
    { kind: 'step_fired', message: `Step ${step + 1} of ${policy.name} pages ${label}${late}`, data: { ...data, userId: member.id } },
    ...lines,
  );
  return true;
}
