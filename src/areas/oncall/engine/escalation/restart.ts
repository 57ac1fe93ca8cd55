// Restarts an ended or stopped escalation when something new happens, so that an incident is never left unpaged in silence.
import { memberOf } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { enqueueAll } from '../../../../kernel/jobs/index.ts';
import { now } from '../../../../kernel/time.ts';
import { truncate } from '../../rules/alerts.ts';
import * as incidents from '../../store/incidents.ts';
import { preferencesOf } from '../../store/settings.ts';
import { addEntries } from '../../store/timeline.ts';
import { notifyStatusPages } from '../public-incidents.ts';
import { wakeEscalation } from '../step.ts';
import { heldBackEntries, makePages } from './make-pages.ts';

/** Escalates from the first step again, after exhaustion or when the acknowledger is gone. The incident is locked. */
export async function restartEscalation(tx: Tx, org: string, incident: incidents.IncidentRow, why: string): Promise<void> {
  const restarted = await incidents.restartEscalation(tx, org, incident.id);
  if (incident.status === 'acknowledged') await notifyStatusPages(tx, org, incident.id);
  if (restarted.policy) await wakeEscalation(tx, org, incident.id);
  await addEntries(tx, org, incident.id, {
    kind: 'walk_restarted',
    message: restarted.policy
      ? `${why}; the policy ${restarted.policy.name} is walked again from its first step`
      : `${why}; the incident has no escalation policy, so nobody is paged`,
    data: { round: restarted.round },
  });
}

/** Pages the acknowledger by their first rule. If they are no member any more, the escalation restarts. The incident is locked. */
export async function pageAcknowledger(tx: Tx, org: string, incident: incidents.IncidentRow, about: string): Promise<void> {
  const by = incident.acknowledged_by;
  const member = by?.id ? await memberOf(tx, org, by.id) : undefined;
  if (!by || !member) return restartEscalation(tx, org, incident, `${about}, and ${by?.label ?? 'the acknowledger'} is no member any more`);
  const { addresses, rules, broken } = await preferencesOf(tx, member.id);
  const first = rules.reduce((a, b) => (b.delaySeconds < a.delaySeconds ? b : a));
  const number = await incidents.countNotice(tx, org, incident.id);
  const { jobs, lines, held } = await makePages(
    tx,
    org,
    {
      incidentId: incident.id,
      round: incident.round,
      pass: incident.pass,
      step: incident.step,
      notice: { number, about: truncate(about, 500) },
      now: await now(tx),
      requestId: undefined,
    },
    { member, label: by.label, addresses, broken, rules: [{ ...first, delaySeconds: 0, ruleIndex: rules.indexOf(first) }] },
  );
  const told = { kind: 'acknowledger_told', message: `${by.label}, who acknowledged, is told: ${about}`, data: { userId: member.id } };
  await Promise.all([enqueueAll(tx, jobs), addEntries(tx, org, incident.id, told, ...lines, ...heldBackEntries(held))]);
}

/** Reacts to a new firing alert on an unresolved incident. A running escalation continues unchanged. */
export async function reactToNewAlerts(tx: Tx, org: string, incident: incidents.IncidentRow, about: string, isNew: boolean): Promise<void> {
  if (incident.status === 'open' && incident.walk_state === 'exhausted') await restartEscalation(tx, org, incident, about);
  if (incident.status === 'acknowledged' && isNew) await pageAcknowledger(tx, org, incident, about);
}
