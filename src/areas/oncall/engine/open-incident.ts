import { isAboutData, type Tx } from '../../../kernel/db/index.ts';
import { enqueueAll, type WantedJob } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import type { Policy } from '../rules/walk.ts';
import { countResponse } from '../store/figures.ts';
import { type Actor, type IncidentRow, incidentToOpen, insertIncident, type NewIncident, walkedTo } from '../store/incidents.ts';
import { policyOf } from '../store/policies.ts';
import { setSavepoint, undoToSavepoint } from '../store/savepoint.ts';
import { type Entry, noteAll } from '../store/timeline.ts';
import { stepJob } from './step.ts';
import { keptLedger } from './walk/make-pages.ts';
import { fireDue, standing } from './walk/walk-on.ts';

export interface Opening extends Omit<NewIncident, 'policy'> {
  actor: Actor;
  requestId: string | undefined;
}

/** The incident, its copy of the policy and its first step are one transaction: whoever is told of it, somebody will be paged. */
export async function openIncident(tx: Tx, org: string, opening: Omit<Opening, 'now'>): Promise<IncidentRow> {
  const [at, policy] = await Promise.all([now(tx), policyOf(tx, org, opening.serviceId)]);
  const { incident, entries, write } = await begin(tx, org, { ...opening, now: at }, policy);
  await write(entries);
  return incident;
}

type Line = Entry & { incidentId: string };

export interface Begun {
  incident: IncidentRow;
  /** The first lines of its timeline. */
  entries: Line[];
  /** Puts it on record, with these lines before those of its first step. */
  write(lines: readonly Line[]): Promise<void>;
}

/** The same, but writing is left to the caller, who has more to tell with it. */
export async function begin(tx: Tx, org: string, { actor, requestId, ...opening }: Opening, policy: Policy | undefined): Promise<Begun> {
  const incident = incidentToOpen({ ...opening, policy });
  const firstStep = policy && (await fireFirst(tx, org, incident, requestId));
  const entries: Entry[] = [{ kind: 'opened', message: `${actor.label} opened the incident`, actor }];
  if (!policy)
    entries.push({ kind: 'no_policy', message: `${incident.service_name} has no escalation policy, so nobody is paged; attach one` });
  const writeIncident = (lines: readonly Line[], { row, jobs, pages }: FirstStep) =>
    Promise.all([
      insertIncident(tx, org, row),
      pages?.write(),
      enqueueAll(tx, jobs),
      countResponse(tx, org, incident, 'opened'),
      noteAll(tx, org, lines, opening.now),
    ]);
  const job = { job: stepJob, key: incident.id, org, ...(requestId ? { requestId } : {}) };
  const left: FirstStep = { row: incident, jobs: policy ? [job] : [], lines: [] };
  const write = async (lines: readonly Line[]) => {
    if (!firstStep) return void (await writeIncident(lines, left));
    try {
      await Promise.all([setSavepoint(tx), writeIncident([...lines, ...firstStep.lines], firstStep)]);
    } catch (error) {
      // One of its pages is refused: the incident opens, and the job of the step writes them one by one.
      if (!isAboutData(error)) throw error;
      await undoToSavepoint(tx);
      await writeIncident(lines, left);
    }
  };
  return { incident, entries: entries.map((entry) => ({ ...entry, incidentId: incident.id })), write };
}

/** What the first step leaves to be written with the incident. */
interface FirstStep {
  /** The incident as it stands after it. */
  row: IncidentRow;
  jobs: readonly WantedJob[];
  lines: readonly Line[];
  pages?: ReturnType<typeof keptLedger>;
}

/** Undefined: it cannot be worked out, so its job tries until it can. A question that the database refused fails the whole all the same. */
async function fireFirst(tx: Tx, org: string, incident: IncidentRow, requestId: string | undefined): Promise<FirstStep | undefined> {
  const { id, opened_at: at } = incident;
  const pages = keptLedger(tx, org, id, at);
  try {
    const walkRow = { ...incident, now: at, has_pages: false };
    const { fired, walk, jobs, lines } = await fireDue(tx, org, walkRow, standing(incident), { requestId, ledger: pages });
    return { row: { ...incident, ...walkedTo(fired, walk) }, jobs, lines: lines.map((line) => ({ ...line, incidentId: id })), pages };
  } catch {
    return undefined;
  }
}
