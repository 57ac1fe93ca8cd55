import Type from 'typebox';
import { DateTime, DateTimeInput, Id, input, Name, named, nextCursor, op, page } from '../common.ts';

const UptimeMaintenance = named(
  'UptimeMaintenance',
  Type.Object({
    id: Type.String(),
    serviceId: Type.String(),
    title: Type.String(),
    startsAt: DateTime,
    endsAt: DateTime,
    createdAt: DateTime,
  }),
);

export const maintenanceOps = {
  listMaintenance: op({
    method: 'GET',
    path: '/uptime/maintenance',
    summary: 'List maintenance windows',
    description: 'Under way, ahead, and over for less than 400 days; the one made last comes first.',
    permission: 'uptime.service.read',
    scoped: true,
    entitlement: 'uptime',
    query: input(page),
    responses: { 200: Type.Object({ maintenance: Type.Array(UptimeMaintenance), cursor: nextCursor }) },
    extension: true,
  }),
  createMaintenance: op({
    method: 'POST',
    path: '/uptime/maintenance',
    summary: 'Plan maintenance of a service',
    description:
      'Meanwhile its monitors go on checking, but no one is paged and nothing counts in an uptime figure. What is still down when it ends fires its alert then.',
    permission: 'uptime.service.write',
    scoped: true,
    entitlement: 'uptime',
    body: input({
      serviceId: Id('The service that is worked on'),
      title: Name,
      startsAt: Type.Optional({ ...DateTimeInput, description: 'ISO 8601 with an offset or Z; now by default' }),
      endsAt: { ...DateTimeInput, description: 'ISO 8601 with an offset or Z; at most 31 days after the start' },
    }),
    responses: { 201: UptimeMaintenance },
    errors: {
      400: 'the start lies in the past, the end is not after the start or too long after it, or a field is invalid',
      409: 'the service has 100 windows that are not over',
    },
    extension: true,
  }),
  deleteMaintenance: op({
    method: 'DELETE',
    path: '/uptime/maintenance/{id}',
    summary: 'Call off maintenance',
    description: 'As if it had never been planned: when it is under way and a monitor is down, its alert fires now.',
    permission: 'uptime.service.write',
    scoped: true,
    entitlement: 'uptime',
    responses: { 204: null },
    extension: true,
  }),
};
