import Type from 'typebox';
import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue, type Job, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';
import { runAtQuarterLoad } from '../../../kernel/yielding.ts';
import { publicChanged, shareService } from '../../services/index.ts';
import { renamePublic, renameUnresolved, type SliceOfService, unresolvedOf } from '../store/incidents.ts';
import { detachPolicy } from '../store/policies.ts';
import { liveSourcesOf } from '../store/sources.ts';

/**
 * What still refers to a service that is about to be deleted. Its policy attachment is deleted with it in this transaction. Other
 * references make the caller roll back.
 */
export async function serviceReferences(tx: Tx, org: string, serviceId: string): Promise<string[]> {
  await detachPolicy(tx, org, serviceId);
  const sources = await liveSourcesOf(tx, org, serviceId);
  const incidents = await unresolvedOf(tx, org, serviceId);
  return [...sources.map((s) => `the alert source ${s.name}`), ...incidents.map((i) => `the incident “${i.title}”, which is not resolved`)];
}

/** Incidents renamed in one transaction. */
const incidentsPerBatch = 100;

const RenamePayload = Type.Object({
  serviceId: Type.String(),
  /** The last name of a deleted service. Absent: the service exists and its current name is read. */
  lastName: Type.Optional(Type.String()),
});

/**
 * Copies a service's name to its incidents, one slice per transaction. Safe to run twice. If the service is renamed meanwhile, each slice
 * reads the name again, and the job runs once more from the start.
 */
export const renameJob: Job<{ serviceId: string; lastName?: string }, unknown> = job(
  'oncall.rename',
  { payload: RenamePayload },
  async ({ db, org, signal, payload: { serviceId, lastName } }) => {
    for (let after: string | null | undefined; after !== null; ) {
      signal.throwIfAborted();
      const slice: SliceOfService = { serviceId, after: after ?? null, limit: incidentsPerBatch };
      after = await runAtQuarterLoad(signal, () => db.write((tx) => renameSlice(tx, org!, slice, lastName)));
    }
  },
);

/** The service row is locked for share, so a rename and a slice wait for each other. */
async function renameSlice(tx: Tx, org: string, slice: SliceOfService, lastName: string | undefined): Promise<string | null> {
  const name = lastName ?? (await shareService(tx, org, slice.serviceId))?.name;
  if (name === undefined) return null;
  const next = await (lastName === undefined ? renameUnresolved : renamePublic)(tx, org, slice, name);
  await publicChanged(tx, org);
  return next;
}

/** Unresolved incidents, and their later pages, follow the service's new name. Resolved incidents keep the old name. */
export async function serviceRenamed(tx: Tx, org: string, { id: serviceId, name }: { id: string; name: string }): Promise<void> {
  const more = await renameUnresolved(tx, org, { serviceId, after: null, limit: incidentsPerBatch }, name);
  if (more !== null) await moveOrEnqueue(tx, renameJob, { key: serviceId, org, payload: { serviceId } });
}

/** The public history of a deleted service stays, under its last name. */
export async function serviceDeleted(tx: Tx, org: string, { id: serviceId, name }: { id: string; name: string }): Promise<void> {
  const more = await renamePublic(tx, org, { serviceId, after: null, limit: incidentsPerBatch }, name);
  if (more !== null) await enqueue(tx, renameJob, { key: `${serviceId}:deleted`, org, payload: { serviceId, lastName: name } });
}
