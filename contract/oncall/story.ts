import Type, { type Static } from 'typebox';
import { DateTime, named, op } from '../common.ts';
import { unavailable } from '../overview.ts';
import { OncallIncident } from './incident-detail.ts';

const StoryEntry = named(
  'OncallStoryEntry',
  Type.Object({
    at: DateTime,
    area: Type.String({ description: 'Which area tells it' }),
    kind: Type.String({
      description:
        'What on-call tells has the kinds of the incident’s timeline. Beside them: probe_failed, probe_passed, monitor_down, monitor_up, monitor_pending, mails, image_pushed, changed, maintenance, cluster_provisioning, cluster_updating, cluster_ready, cluster_degraded, cluster_failed, cluster_deleting, cluster_changing (of servers of an older release)',
    }),
    title: Type.String({ description: 'One sentence' }),
    detail: Type.Optional(Type.String({ description: 'More of it, at most 500 characters' })),
    ref: Type.Optional(
      Type.Object(
        {
          kind: Type.String({
            description: 'As in a search: monitor, repository, cluster, page; a word of the audit log for what was changed',
          }),
          id: Type.String(),
          parents: Type.Array(Type.String(), { description: 'What its path names before it' }),
        },
        { description: 'The thing that it is about' },
      ),
    ),
  }),
);
export type StoryEntry = Static<typeof StoryEntry>;

const Withheld = named(
  'OncallStoryWithheld',
  Type.Object({
    area: Type.String(),
    what: Type.String({ description: 'What kind of entries' }),
    permission: Type.String({ description: 'The permission that shows them' }),
  }),
);

export const storyOps = {
  getIncidentStory: op({
    method: 'GET',
    path: '/oncall/incidents/{id}/story',
    summary: 'An incident from the first failing probe to the last mail',
    description:
      'One time axis over all areas: what the probes of its monitors saw by vantage, alerts, escalation, each page and its fate, acknowledgement, updates, and what became of the mails to subscribers. `before` is what changed in the hour before it opened; pushes, edits and phases of clusters while it lasted are on the axis. Each area tells what the caller may read: `withheld` names the rest without its contents.',
    permission: 'oncall.incident.read',
    scoped: true,
    responses: {
      200: Type.Object({
        incident: OncallIncident,
        before: Type.Array(StoryEntry, { description: 'Oldest first; the newest 200' }),
        entries: Type.Array(StoryEntry, { description: 'Oldest first; of more than 1,000 the first and the last 500' }),
        truncated: Type.Boolean({ description: 'Entries are left out of `before` or `entries`, because there are too many' }),
        withheld: Type.Array(Withheld, {
          description: 'What the caller may not read; told by rights alone, whether or not there is any of it',
        }),
        unavailable,
      }),
    },
    extension: true,
  }),
};
