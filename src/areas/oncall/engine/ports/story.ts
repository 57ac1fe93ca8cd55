import type { StoryEntry } from '../../../../../contract/oncall/story.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import type { StorySubject } from '../../../ports.ts';
import type { IncidentRow } from '../../store/incidents.ts';
import * as store from '../../store/ports/story.ts';

const hourMs = 3_600_000;
const maxMonitors = 20;
const perEnd = 500;

/** What on-call tells of its incident by itself, and what it hands to the other areas. */
export async function beginStory(
  tx: Tx,
  org: string,
  incident: IncidentRow,
): Promise<{ subject: StorySubject; entries: StoryEntry[]; isCut: boolean }> {
  const [at, lines, monitors, updates, length] = await Promise.all([
    now(tx),
    store.bothEndsOfTimeline(tx, org, incident.id, perEnd),
    store.monitorsBehind(tx, org, incident.id, maxMonitors),
    store.updatesEver(tx, org, incident.id),
    store.timelineLength(tx, org, incident.id, 2 * perEnd + 1),
  ]);
  return {
    subject: {
      serviceId: incident.service_id,
      openedAt: incident.opened_at,
      from: new Date(Date.parse(incident.opened_at) - hourMs).toISOString(),
      until: incident.resolved_at ?? at,
      monitors: monitors.map(({ source_id, since }) => ({ id: source_id, failingSince: since })),
      mailed: [...updates, incident.id],
    },
    entries: lines.map((line) => entryOf(line, incident.id)),
    isCut: length > 2 * perEnd || monitors.length === maxMonitors,
  };
}

function entryOf({ at, kind, message, data, body }: store.StoryRow, incidentId: string): StoryEntry {
  const ref = refOf(data, incidentId);
  return { at, area: 'oncall', kind, title: message, ...(body === null ? {} : { detail: cut(body) }), ...(ref ? { ref } : {}) };
}

const maxDetail = 500;
const cut = (text: string) => (text.length > maxDetail ? `${text.slice(0, maxDetail - 2).toWellFormed()} …` : text);

function refOf(data: Record<string, unknown> | null, incidentId: string): StoryEntry['ref'] {
  const of = (kind: string, id: unknown, parents: string[] = []) => (typeof id === 'string' ? { kind, id, parents } : undefined);
  return (
    of('page', data?.['pageId'], [incidentId]) ?? of('incidentUpdate', data?.['updateId'], [incidentId]) ?? of('member', data?.['userId'])
  );
}
