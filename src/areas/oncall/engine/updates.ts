import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { enqueue, type NamedJob } from '../../../kernel/jobs/index.ts';
import { publicChanged } from '../../services/index.ts';
import type { Actor, IncidentRow } from '../store/incidents.ts';
import { addEntries } from '../store/timeline.ts';
import { countUpdates, deleteUpdate, insertUpdate, type UpdateRow } from '../store/updates.ts';

/** Enqueued for status pages with each update; the key is its id. The status area declares the job and mails the subscribers. */
export const updatePublished: NamedJob = { kind: 'status.announce-update', lane: 'default' };

/** Updates per incident: every reader of the incident gets all of them. */
const maxUpdatesPerIncident = 100;

/**
 * Publishes an update of a locked incident, which makes the incident public. The lock keeps two callers from both taking the last free
 * update.
 */
export async function publishUpdate(
  tx: Tx,
  org: string,
  incident: IncidentRow,
  actor: Actor,
  { body, kind = 'update' }: { body: string; kind?: 'update' | 'postmortem' | undefined },
): Promise<UpdateRow> {
  if (kind === 'postmortem' && incident.status !== 'resolved')
    conflict('the incident is not resolved yet; resolve it before its post-mortem');
  if ((await countUpdates(tx, org, incident.id)) >= maxUpdatesPerIncident)
    conflict(`the incident has ${maxUpdatesPerIncident} updates, which is the most; retract one, or go on in a new incident`);
  const update = await insertUpdate(tx, org, incident.id, body, actor.label, kind);
  await addEntries(tx, org, incident.id, {
    kind: 'update_published',
    message: `${actor.label} published an update`,
    actor,
    data: { updateId: update.id },
  });
  await publicChanged(tx, org);
  await enqueue(tx, updatePublished, { key: update.id, org });
  return update;
}

/** Deletes the update. An incident without updates is not public any more. */
export async function retractUpdate(tx: Tx, org: string, incident: IncidentRow, actor: Actor, updateId: string): Promise<void> {
  if (!(await deleteUpdate(tx, org, incident.id, updateId))) notFound('update');
  await addEntries(tx, org, incident.id, {
    kind: 'update_retracted',
    message: `${actor.label} retracted an update`,
    actor,
    data: { updateId },
  });
  await publicChanged(tx, org);
}
