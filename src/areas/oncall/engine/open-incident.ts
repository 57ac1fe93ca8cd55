import { isAboutData, type Tx } from '../../../kernel/db/index.ts';
import { enqueueAll, type WantedJob } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import type { Policy } from '../rules/escalation.ts';
import { type Actor, escalationColumns, type IncidentRow, type NewIncident, newIncidentRow } from '../store/incidents.ts';
import { insertOpening } from '../store/insert-opening.ts';
import { addHeldBack } from '../store/page-limits.ts';
import { policyOf } from '../store/policies.ts';
import { setSavepoint, undoToSavepoint } from '../store/savepoint.ts';
import type { IncidentEntry, TimelineEntry } from '../store/timeline.ts';
import { escalationStateOf, fireDueSteps } from './escalation/escalate.ts';
import { type BufferedPageWriter, makeBufferedPageWriter } from './escalation/make-pages.ts';
import { stepJob } from './step.ts';

export interface Opening extends Omit<NewIncident, 'policy'> {
  actor: Actor;
  requestId: string | undefined;
}

/** Opens an incident with its copy of the policy and its first step in one transaction, so a reported incident always leads to a page. */
export async function openIncident(tx: Tx, org: string, opening: Omit<Opening, 'now'>): Promise<IncidentRow> {
  const [at, policy] = await Promise.all([now(tx), policyOf(tx, org, opening.serviceId)]);
  const { incident, entries, write } = await prepareIncident(tx, org, { ...opening, now: at }, policy);
  await write(entries);
  return incident;
}

export interface PreparedIncident {
  incident: IncidentRow;
  /** The first lines of its timeline. */
  entries: IncidentEntry[];
  /** Inserts the incident with these lines before those of its first step, and runs `more` for rows that refer to it. */
  write(lines: readonly IncidentEntry[], more?: () => Promise<unknown>): Promise<void>;
}

/** The same without the insert: the caller writes it together with its own rows. */
export async function prepareIncident(
  tx: Tx,
  org: string,
  { actor, requestId, ...opening }: Opening,
  policy: Policy | undefined,
): Promise<PreparedIncident> {
  const incident = newIncidentRow({ ...opening, policy });
  const firstStep = policy && (await fireFirstStep(tx, org, incident, requestId));
  const entries: TimelineEntry[] = [{ kind: 'opened', message: `${actor.label} opened the incident`, actor }];
  if (!policy)
    entries.push({ kind: 'no_policy', message: `${incident.service_name} has no escalation policy, so nobody is paged; attach one` });
  const job = { job: stepJob, key: incident.id, org, ...(requestId ? { requestId } : {}) };
  const leftToJob: FirstStep = { row: incident, jobs: policy ? [job] : [], lines: [], pages: [], heldBack: [] };
  return {
    incident,
    entries: entries.map((entry) => ({ ...entry, incidentId: incident.id })),
    write: async (lines, more) => {
      const writeWith = (step: FirstStep) => Promise.all([writeOpening(tx, org, lines, step), more?.()]);
      if (!firstStep) return void (await writeWith(leftToJob));
      try {
        await Promise.all([setSavepoint(tx), writeWith(firstStep)]);
      } catch (error) {
        // The database may refuse one of the pages. Then the incident opens without them, and the step's job inserts them one by one.
        if (!isAboutData(error)) throw error;
        await undoToSavepoint(tx);
        await writeWith(leftToJob);
      }
    },
  };
}

/** Rows of the first step that are inserted with the incident. */
interface FirstStep extends Pick<BufferedPageWriter, 'pages' | 'heldBack'> {
  /** The incident after the first step. */
  row: IncidentRow;
  jobs: readonly WantedJob[];
  lines: readonly IncidentEntry[];
}

/** Undefined: the step cannot be computed, so its job retries it. A statement that the database refuses still fails the transaction. */
async function fireFirstStep(tx: Tx, org: string, incident: IncidentRow, requestId: string | undefined): Promise<FirstStep | undefined> {
  const { id, opened_at: at } = incident;
  const writer = makeBufferedPageWriter(at);
  try {
    const row = { ...incident, now: at, has_pages: false };
    const { fired, state, jobs, lines } = await fireDueSteps(tx, org, row, escalationStateOf(incident), { requestId, writer });
    const { pages, heldBack } = writer;
    return {
      row: { ...incident, ...escalationColumns(fired, state) },
      jobs,
      lines: lines.map((l) => ({ ...l, incidentId: id })),
      pages,
      heldBack,
    };
  } catch {
    return undefined;
  }
}

const writeOpening = (tx: Tx, org: string, lines: readonly IncidentEntry[], { row, jobs, lines: ofStep, pages, heldBack }: FirstStep) =>
  Promise.all([
    insertOpening(tx, org, row, pages, [...lines, ...ofStep]),
    ...heldBack.map((held) => addHeldBack(tx, org, { incidentId: row.id, userId: held.userId }, held.pages)),
    enqueueAll(tx, jobs),
  ]);
