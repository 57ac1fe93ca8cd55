import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { enqueue, type NamedJob } from '../../../kernel/jobs/index.ts';
import { publicChanged } from '../../services/index.ts';
import type { Actor, IncidentRow } from '../store/incidents.ts';
import { addEntries } from '../store/timeline.ts';
import { countUpdates, deleteUpdate, insertUpdate, type UpdateRow } from '../store/updates.ts';

/** Left for status pages with each update, by its id: they declare the job under this name, and tell their subscribers. */
export const updatePublished: NamedJob = { kind: 'status.announce-update', lane: 'default' };

/** Of one incident: everybody who reads of it is sent them all. */
const maxUpdatesPerIncident = 100;

/** From now on the public may know of a locked incident: two callers who publish at once do not both take the last place. */
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

/** For good. Without any update left, the incident is unknown to the public again. */
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
