import Type from 'typebox';
import { Id, input, nextCursor, oneOf, op, page } from '../common.ts';
import { OncallIncident, OncallIncidentDetail, OncallUpdate } from './incident-detail.ts';

const acknowledge = {
  method: 'POST',
  summary: 'Acknowledge an incident',
  description:
    'Stops the escalation: no further pages go out. Alerts keep attaching. Acknowledging an acknowledged incident changes nothing.',
  permission: 'oncall.incident.write',
  scoped: true,
  responses: { 200: OncallIncident },
  errors: { 409: 'the incident is resolved' },
} as const;

export const incidentOps = {
  listIncidents: op({
    method: 'GET',
    path: '/oncall/incidents',
    summary: 'List incidents',
    description: 'Newest first, at most 100 at once. Without a status: the working set, open and acknowledged ones.',
    permission: 'oncall.incident.read',
    scoped: true,
    query: input({
      status: Type.Optional(oneOf(['open', 'acknowledged', 'resolved'])),
      serviceId: Type.Optional(Id('Only those of this service; of one that the caller may not see, none')),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'At most this many; 100 by default' })),
      cursor: page.cursor,
    }),
    responses: { 200: Type.Object({ incidents: Type.Array(OncallIncident), cursor: nextCursor }) },
  }),
  openIncident: op({
    method: 'POST',
    path: '/oncall/incidents',
    summary: 'Open an incident by hand',
    description: 'Pages like one that an alert opened. It never resolves by itself, not even when alerts that joined it have ended.',
    permission: 'oncall.incident.write',
    scoped: true,
    body: input({
      serviceId: Id('The service that is affected'),
      title: Type.String({ minLength: 1, maxLength: 200, 'x-trim': true, description: 'Trimmed; 1 to 200 characters' }),
      description: Type.Optional(Type.String({ maxLength: 10_000 })),
    }),
    responses: { 201: OncallIncident },
    errors: { 404: 'unknown service, or not of this organization' },
  }),
  getIncident: op({
    method: 'GET',
    path: '/oncall/incidents/{id}',
    summary: 'One incident with its alerts and timeline',
    permission: 'oncall.incident.read',
    scoped: true,
    responses: { 200: OncallIncidentDetail },
  }),
  acknowledgeIncident: op({ ...acknowledge, path: '/oncall/incidents/{id}/ack' }),
  acknowledgeIncidentAlias: op({
    ...acknowledge,
    path: '/oncall/incidents/{id}/acknowledge',
    summary: 'Acknowledge an incident (the word in full)',
    extension: true,
  }),
  resolveIncident: op({
    method: 'POST',
    path: '/oncall/incidents/{id}/resolve',
    summary: 'Resolve an incident',
    description: 'Final: what fires after it opens a new incident. Pages not yet on their way are canceled.',
    permission: 'oncall.incident.write',
    scoped: true,
    responses: { 200: OncallIncident },
    errors: { 409: 'the incident is already resolved' },
  }),
  publishIncidentUpdate: op({
    method: 'POST',
    path: '/oncall/incidents/{id}/updates',
    summary: 'Publish an update',
    description:
      'The first one makes the incident visible on status pages that show its service; the timeline stays internal. Possible after resolution too. The author’s label comes from the session.',
    permission: 'oncall.update.write',
    kinds: ['oncall.incident'],
    scoped: true,
    body: input({
      body: Type.String({ minLength: 1, maxLength: 10_000, 'x-trim': true, description: 'Plain text, shown to the public' }),
      kind: Type.Optional(
        oneOf(['update', 'postmortem'], { description: 'postmortem: what happened and why, once the incident is resolved' }),
      ),
    }),
    responses: { 201: OncallUpdate },
    errors: { 409: 'a post-mortem of an incident that is not resolved, or more than 100 updates of one incident' },
  }),
  retractIncidentUpdate: op({
    method: 'DELETE',
    path: '/oncall/incidents/{id}/updates/{uid}',
    summary: 'Retract an update',
    description: 'Deletes it from the public page for good. After the last one the incident disappears from status pages.',
    permission: 'oncall.update.write',
    kinds: ['oncall.incident'],
    scoped: true,
    responses: { 204: null },
  }),
};
