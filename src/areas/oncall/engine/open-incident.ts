import { isAboutData, type Tx } from '../../../kernel/db/index.ts';
import { enqueueAll, type WantedJob } from '../../../kernel/jobs/index.ts';
import { now } from '../../../kernel/time.ts';
import type { Policy } from '../rules/walk.ts';
import { type Actor, type IncidentRow, incidentToOpen, type NewIncident, walkedTo } from '../store/incidents.ts';
import { insertOpening } from '../store/openings.ts';
import { addHeldBack } from '../store/page-limits.ts';
import { policyOf } from '../store/policies.ts';
import { setSavepoint, undoToSavepoint } from '../store/savepoint.ts';
import type { Entry, Line } from '../store/timeline.ts';
import { stepJob } from './step.ts';
import { type KeptLedger, keepLedger } from './walk/make-pages.ts';
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

export interface Begun {
  incident: IncidentRow;
  /** The first lines of its timeline. */
  entries: Line[];
  /** Puts it on record, with these lines before those of its first step, and with what else refers to it. */
  write(lines: readonly Line[], more?: () => Promise<unknown>): Promise<void>;
}

/** The same, but writing is left to the caller, who has more to write with it. */
export async function begin(tx: Tx, org: string, { actor, requestId, ...opening }: Opening, policy: Policy | undefined): Promise<Begun> {
  const incident = incidentToOpen({ ...opening, policy });
  const firstStep = policy && (await fireFirst(tx, org, incident, requestId));
  const entries: Entry[] = [{ kind: 'opened', message: `${actor.label} opened the incident`, actor }];
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
        // One of its pages may be what is refused: then the incident opens, and the job of the step writes them one by one.
        if (!isAboutData(error)) throw error;
        await undoToSavepoint(tx);
        await writeWith(leftToJob);
      }
    },
  };
}

/** What the first step leaves to be written with the incident. */
interface FirstStep extends Pick<KeptLedger, 'pages' | 'heldBack'> {
  /** The incident as it stands after it. */
  row: IncidentRow;
  jobs: readonly WantedJob[];
  lines: readonly Line[];
}

/** Undefined: it cannot be worked out, so its job tries until it can. A question that the database refused fails the whole all the same. */
async function fireFirst(tx: Tx, org: string, incident: IncidentRow, requestId: string | undefined): Promise<FirstStep | undefined> {
  const { id, opened_at: at } = incident;
  const ledger = keepLedger(at);
  try {
    const walkRow = { ...incident, now: at, has_pages: false };
    const { fired, walk, jobs, lines } = await fireDue(tx, org, walkRow, standing(incident), { requestId, ledger });
    const { pages, heldBack } = ledger;
    return { row: { ...incident, ...walkedTo(fired, walk) }, jobs, lines: lines.map((l) => ({ ...l, incidentId: id })), pages, heldBack };
  } catch {
    return undefined;
  }
}

const writeOpening = (tx: Tx, org: string, lines: readonly Line[], { row, jobs, lines: ofStep, pages, heldBack }: FirstStep) =>
  Promise.all([
    insertOpening(tx, org, row, pages, [...lines, ...ofStep]),
    ...heldBack.map((held) => addHeldBack(tx, org, { incidentId: row.id, userId: held.userId }, held.pages)),
    enqueueAll(tx, jobs),
  ]);
