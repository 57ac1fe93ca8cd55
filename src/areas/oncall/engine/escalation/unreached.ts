// Handles a step whose pages all failed. The person's other rules come first, then the next person in the rotation, then the next step.
import { memberOf } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueueAll } from '../../../../kernel/jobs/index.ts';
import type { IncidentRow } from '../../store/incidents.ts';
import * as pages from '../../store/pages.ts';
import { preferencesOf } from '../../store/settings.ts';
import { addEntries } from '../../store/timeline.ts';
import { makePages } from './make-pages.ts';

/** The position of the last pages: the step that fired last, or the newest notice to the acknowledger. */
const positionOf = (incident: IncidentRow) => ({
  incident_id: incident.id,
  round: incident.round,
  pass: incident.pass,
  step: incident.step,
  notice: incident.status === 'acknowledged' ? incident.notices : 0,
});

export interface Unreached {
  userId: string;
  label: string;
  about: string | null;
  /** Every page has failed, was canceled, or waits for a repair. Otherwise one page fails temporarily and none was sent. */
  isPermanent: boolean;
}

/** The person who was paged without success. Undefined while a page at this position was sent, or has its first attempt ahead. */
export async function findUnreached(tx: Tx, org: string, incident: IncidentRow): Promise<Unreached | undefined> {
  const made = await pagesToCheck(tx, org, incident);
  const isWaiting = ({ state }: { state: string }) => state === 'queued' || state === 'sending';
  const alive = made.filter((p) => p.state !== 'failed' && p.state !== 'canceled' && !(p.passed_over && isWaiting(p)));
  const last = made.at(-1);
  if (!last || alive.some((p) => !isWaiting(p))) return undefined;
  const isStuck = alive.some((p) => p.error !== null);
  return isStuck || !alive.length ? { userId: last.user_id, label: last.label, about: last.about, isPermanent: !alive.length } : undefined;
}

/** The pages of this position. If the limits held back all of them, the last pages of the same person. */
async function pagesToCheck(tx: Tx, org: string, incident: IncidentRow) {
  const position = positionOf(incident);
  const made = await pages.pagesAt(tx, org, position);
  const userId = incident.status === 'acknowledged' ? incident.acknowledged_by?.id : incident.step_user;
  if (made.length || !userId) return made;
  const newest = await pages.newestPositionOf(tx, org, position, userId);
  return newest ? (await pages.pagesAt(tx, org, { ...position, ...newest })).filter((p) => p.user_id === userId) : [];
}

/** Fires a rule of the person that was not fired yet: the limits held back its page, or it was not the first. False: no rule is left. */
export async function followNextRule(
  tx: Tx,
  org: string,
  incident: IncidentRow & { now: string },
  { userId, label, about }: Unreached,
): Promise<boolean> {
  const [member, { addresses, rules }] = await Promise.all([memberOf(tx, org, userId), preferencesOf(tx, userId)]);
  if (!member) return false;
  const { notice, ...position } = positionOf(incident);
  const made = (await pages.pagesAt(tx, org, { ...position, notice })).filter((p) => p.user_id === userId);
  const used = new Set(made.map((p) => p.rule_index));
  for (const [ruleIndex, rule] of rules.entries()) {
    if (used.has(ruleIndex)) continue;
    const { round, pass, step } = position;
    const { jobs, lines } = await makePages(
      tx,
      org,
      {
        incidentId: incident.id,
        round,
        pass,
        step,
        ...(notice ? { notice: { number: notice, about: about ?? '' } } : {}),
        now: incident.now,
        requestId: undefined,
        ignoreLimits: true,
      },
      { member, label, addresses, broken: [], rules: [{ ...rule, delaySeconds: 0, ruleIndex }] },
    );
    await Promise.all([enqueueAll(tx, jobs), addEntries(tx, org, incident.id, ...lines)]);
    if (jobs.length) return true;
  }
  return false;
}
