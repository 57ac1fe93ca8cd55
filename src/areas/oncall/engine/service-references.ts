import Type from 'typebox';
import type { Tx } from '../../../kernel/db/index.ts';
import { enqueue, type Job, job, moveOrEnqueue } from '../../../kernel/jobs/index.ts';
import { runAtQuarterLoad } from '../../../kernel/yielding.ts';
import { publicChanged, shareService } from '../../services/index.ts';
import { renamePublic, renameUnresolved, type SliceOfService, unresolvedOf } from '../store/incidents.ts';
import { detachPolicy } from '../store/policies.ts';
import { liveSourcesOf } from '../store/sources.ts';

/**
 * What still needs a service that is about to be deleted. Its escalation policy is a property of it and goes with it, in the same
 * transaction; when something else stands in the way, that transaction is undone.
 */
export async function serviceReferences(tx: Tx, org: string, serviceId: string): Promise<string[]> {
  await detachPolicy(tx, org, serviceId);
  const sources = await liveSourcesOf(tx, org, serviceId);
  const incidents = await unresolvedOf(tx, org, serviceId);
  return [...sources.map((s) => `the alert source ${s.name}`), ...incidents.map((i) => `the incident “${i.title}”, which is not resolved`)];
}

/** Incidents that one transaction renames. */
const incidentsPerBatch = 100;

const RenamePayload = Type.Object({
  serviceId: Type.String(),
  /** Of a service that was deleted: the name that it had last. Without it, the service has its name. */
  lastName: Type.Optional(Type.String()),
});

/**
 * Tells the incidents of a service its name, one slice a transaction. Safe to run twice. When the service is renamed meanwhile, each
 * slice reads its name anew, and the job runs once more from the beginning.
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

/** The service is shared: a rename waits for the slice, or the slice for it. */
async function renameSlice(tx: Tx, org: string, slice: SliceOfService, lastName: string | undefined): Promise<string | null> {
  const name = lastName ?? (await shareService(tx, org, slice.serviceId))?.name;
  if (name === undefined) return null;
  const next = await (lastName === undefined ? renameUnresolved : renamePublic)(tx, org, slice, name);
  await publicChanged(tx, org);
  return next;
}

/** What goes on is told under the service's new name, also in pages to come; what is over keeps the one it had. */
export async function serviceRenamed(tx: Tx, org: string, { id: serviceId, name }: { id: string; name: string }): Promise<void> {
  const more = await renameUnresolved(tx, org, { serviceId, after: null, limit: incidentsPerBatch }, name);
  if (more !== null) await moveOrEnqueue(tx, renameJob, { key: serviceId, org, payload: { serviceId } });
}

/** Of a service that is deleted the public history stays, under the name that it had last. */
export async function serviceDeleted(tx: Tx, org: string, { id: serviceId, name }: { id: string; name: string }): Promise<void> {
  const more = await renamePublic(tx, org, { serviceId, after: null, limit: incidentsPerBatch }, name);
  if (more !== null) await enqueue(tx, renameJob, { key: `${serviceId}:deleted`, org, payload: { serviceId, lastName: name } });
}
