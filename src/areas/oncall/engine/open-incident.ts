import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue } from '../../../kernel/jobs/index.ts';
import type { Policy } from '../rules/walk.ts';
import { countResponse } from '../store/figures.ts';
import { type Actor, type IncidentRow, insertIncident, type NewIncident } from '../store/incidents.ts';
import { policyOf } from '../store/policies.ts';
import { type Entry, note } from '../store/timeline.ts';
import { stepJob } from './step.ts';

export interface Opening extends Omit<NewIncident, 'policy'> {
  actor: Actor;
  requestId: string | undefined;
}

/** The incident, its copy of the policy and its first step are one transaction: whoever is told of it, somebody will be paged. */
export async function openIncident(tx: Tx, org: string, opening: Opening): Promise<IncidentRow> {
  const { incident, entries, writeRest } = await begin(tx, org, opening, await policyOf(tx, org, opening.serviceId));
  await Promise.all([writeRest(), note(tx, org, incident.id, ...entries)]);
  return incident;
}

export interface Begun {
  incident: IncidentRow;
  /** The first lines of its timeline. */
  entries: Entry[];
  /** Its first step, and what it adds to the figures. */
  writeRest(): Promise<unknown>;
}

/** The same, but the rest is left to the caller, who has more to write with it. */
export async function begin(tx: Tx, org: string, { actor, requestId, ...opening }: Opening, policy: Policy | undefined): Promise<Begun> {
  const incident = await insertIncident(tx, org, { ...opening, policy });
  const entries: Entry[] = [{ kind: 'opened', message: `${actor.label} opened the incident`, actor }];
  if (!policy)
    entries.push({ kind: 'no_policy', message: `${incident.service_name} has no escalation policy, so nobody is paged; attach one` });
  const writeRest = () =>
    Promise.all([
      policy && enqueue(tx, stepJob, { key: incident.id, org, ...(requestId ? { requestId } : {}) }),
      countResponse(tx, org, incident, 'opened'),
    ]);
  return { incident, entries, writeRest };
}
