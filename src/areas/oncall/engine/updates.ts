import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';
import { publicChanged } from '../../services/index.ts';
import type { Actor, IncidentRow } from '../store/incidents.ts';
import { note } from '../store/timeline.ts';
import { deleteUpdate, insertUpdate, type UpdateRow } from '../store/updates.ts';

/** Woken when an update was published: the task of status pages that tells their subscribers bears this name, and also looks by the clock. */
export const updatePublished = channelNamed('status.announce');

/** From now on the public may know of the incident. */
export async function publishUpdate(
  tx: Tx,
  org: string,
  incident: IncidentRow,
  actor: Actor,
  { body, kind = 'update' }: { body: string; kind?: 'update' | 'postmortem' | undefined },
): Promise<UpdateRow> {
  if (kind === 'postmortem' && incident.status !== 'resolved')
    conflict('the incident is not resolved yet; resolve it before its post-mortem');
  const update = await insertUpdate(tx, org, incident.id, body, actor.label, kind);
  await note(tx, org, incident.id, {
    kind: 'update_published',
    message: `${actor.label} published an update`,
    actor,
    data: { updateId: update.id },
  });
  await publicChanged(tx, org);
  wake(tx, updatePublished);
  return update;
}

/** For good. Without any update left, the incident is unknown to the public again. */
export async function retractUpdate(tx: Tx, org: string, incident: IncidentRow, actor: Actor, updateId: string): Promise<void> {
  if (!(await deleteUpdate(tx, org, incident.id, updateId))) notFound('update');
  await note(tx, org, incident.id, {
    kind: 'update_retracted',
    message: `${actor.label} retracted an update`,
    actor,
    data: { updateId },
  });
  await publicChanged(tx, org);
}
