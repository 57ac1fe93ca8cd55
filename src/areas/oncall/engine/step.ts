import { randomInt } from 'node:crypto';
import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue, enqueueMany, type Job, job } from '../../../kernel/jobs/index.ts';
import { addressOf, type ChannelName, channels } from '../rules/channels.ts';
import { advance, type Policy, stepByStep, type Walk } from '../rules/walk.ts';
import * as incidents from '../store/incidents.ts';
import { insertPages, takenCodes } from '../store/pages.ts';
import { type Entry, note } from '../store/timeline.ts';
import { pageJob } from './page.ts';
import { responderOf } from './responder.ts';

/**
 * The next step of one incident's walk. Safe to run twice: the step, its pages and where the walk stands are one transaction with
 * the end of this job, and it fires nothing unless the incident is open and the step due.
 */
export const stepJob: Job = job(
  'oncall.step',
  { lane: 'page', maxAttempts: 10_000, retry: (attempt) => Math.min(2 ** attempt, 15) },
  (run) => run.finishWith((tx) => walkOn(tx, run.org!, run.key, run.requestId)),
);

async function walkOn(tx: Tx, org: string, id: string, requestId: string | undefined): Promise<void> {
  const incident = await incidents.lockWalk(tx, org, id);
  if (incident?.status !== 'open' || incident.walk_state !== 'walking' || !incident.policy) return;
  const { now } = incident;
  const at = Date.parse(now);
  let fired = { pass: incident.pass, step: incident.step };
  let walk: Walk = standing(incident);
  const moveOn = stepByStep(incident.policy);
  while (walk.next && walk.at <= at) {
    moveOn(walk);
    fired = walk.next;
    const reached = await fire(tx, org, incident, incident.policy, walk, now, requestId);
    walk = advance(incident.policy, walk, reached, at);
  }
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
}

const standing = (incident: incidents.IncidentRow): Walk => ({
  next: incident.next_pass === null ? undefined : { pass: incident.next_pass, step: incident.next_step! },
  at: Date.parse(incident.next_at!),
  waited: incident.pass_waited,
});

const exhausted = ({ name, repeat }: Policy) =>
  `Nobody acknowledged: the policy ${name} is walked through${repeat ? ` ${repeat + 1} times` : ''}. The incident stays open, and nobody else is paged`;

/** Later than this is worth telling. */
const lateMs = 2_000;

/** One step: its responder's pages, and a line about it. False: it reached nobody. */
async function fire(
  tx: Tx,
  org: string,
  incident: incidents.IncidentRow,
  policy: Policy,
  walk: Walk,
  now: string,
  requestId: string | undefined,
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
  const { member, label, phone, rules } = reached;
  const codes = await freeCodes(tx, org, member.id, rules);
  const made = await insertPages(
    tx,
    org,
    incident.id,
    now,
    rules.map(({ channel, delaySeconds }, ruleIndex) => ({
      pass,
      step,
      userId: member.id,
      label,
      channel,
      ruleIndex,
      address: addressOf(channel, { email: member.email, phone }),
      delaySeconds,
      code: codes[ruleIndex]!,
    })),
  );
  const queued: Entry[] = made
    .filter(({ due_at }) => due_at > now)
    .map(({ id, channel, due_at }) => ({
      kind: 'page_queued',
      message: `${label} gets ${channels[channel].page} at ${due_at} unless somebody acknowledges`,
      data: { pageId: id, channel, dueAt: due_at },
    }));
  await Promise.all([
    enqueueMany(
      tx,
      pageJob,
      made.map(({ id, due_at }) => ({ key: id, org, runAt: due_at, ...(requestId ? { requestId } : {}) })),
    ),
    note(
      tx,
      org,
      incident.id,
      { kind: 'step_fired', message: `Step ${step + 1} of ${policy.name} pages ${label}${late}`, data: { ...data, userId: member.id } },
      ...queued,
    ),
  ]);
  return true;
}

/** A code of four digits for each rule, naming nothing else of theirs as far as a few guesses find it. */
async function freeCodes(tx: Tx, org: string, userId: string, rules: readonly { channel: ChannelName }[]): Promise<string[]> {
  const guesses = new Set<string>();
  while (guesses.size < rules.length + 8) guesses.add(String(randomInt(10_000)).padStart(4, '0'));
  if (!rules.some((r) => channels[r.channel].coded)) return [...guesses];
  const taken = await takenCodes(tx, org, userId, [...guesses]);
  return [...guesses].sort((a, b) => Number(taken.has(a)) - Number(taken.has(b)));
}
