import Type from 'typebox';
import { DateTime, input, Name, named, nextCursor, op, page } from '../common.ts';

export const UptimeService = named(
  'UptimeService',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    monitors: Type.Integer({ minimum: 0, description: 'How many monitors the service has now' }),
    createdAt: DateTime,
  }),
);

export const serviceOps = {
  listUptimeServices: op({
    method: 'GET',
    path: '/uptime/services',
    summary: 'List services',
    description: 'With live monitor counts. The catalog is shared with on-call: both areas show the same services.',
    permission: 'uptime.service.read',
    scoped: true,
    entitlement: 'uptime',
    query: input(page),
    responses: { 200: Type.Object({ services: Type.Array(UptimeService), cursor: nextCursor }) },
  }),
  createUptimeService: op({
    method: 'POST',
    path: '/uptime/services',
    summary: 'Create a service',
    permission: 'uptime.service.write',
    entitlement: 'uptime',
    body: input({ name: Name }),
    responses: { 201: UptimeService },
    errors: { 409: 'a service with this name exists' },
  }),
  renameUptimeService: op({
    method: 'PATCH',
    path: '/uptime/services/{id}',
    summary: 'Rename a service',
    permission: 'uptime.service.write',
    scoped: true,
    entitlement: 'uptime',
    body: input({ name: Name }),
    responses: { 200: UptimeService },
    errors: { 409: 'a service with this name exists' },
  }),
  deleteUptimeService: op({
    method: 'DELETE',
    path: '/uptime/services/{id}',
    summary: 'Delete a service',
    description: 'Deletes nothing else with it: detach or delete its monitors and alert sources and resolve its incidents first.',
    permission: 'uptime.service.write',
    fresh: true,
    scoped: true,
    entitlement: 'uptime',
    responses: { 204: null },
    errors: { 409: 'monitors are still attached, or alert sources or unresolved incidents refer to the service; the sentence names them' },
  }),
};
