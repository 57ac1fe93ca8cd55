import Type from 'typebox';
import { DateTime, input, Name, named, op } from '../common.ts';

const OncallCalendarLink = named('OncallCalendarLink', Type.Object({ id: Type.String(), name: Type.String(), createdAt: DateTime }));

export const calendarLinkOps = {
  listCalendarLinks: op({
    method: 'GET',
    path: '/oncall/schedules/{id}/calendar-links',
    summary: 'List the links by which calendars subscribe to a schedule',
    description: 'Newest first; a schedule has 20 at most. The addresses are never shown again.',
    permission: 'oncall.schedule.read',
    responses: { 200: Type.Object({ links: Type.Array(OncallCalendarLink) }) },
    extension: true,
  }),
  createCalendarLink: op({
    method: 'POST',
    path: '/oncall/schedules/{id}/calendar-links',
    summary: 'Make a link by which a calendar subscribes to a schedule',
    description:
      'Anyone with the address sees who is on call when, without a token: give each calendar its own, so that one can be revoked. The address is returned only here.',
    permission: 'oncall.schedule.write',
    fresh: true,
    body: input({ name: Name }),
    responses: { 201: Type.Object({ id: Type.String(), name: Type.String(), link: Type.String(), createdAt: DateTime }) },
    errors: { 409: 'the schedule has 20 links, or the Idempotency-Key was used before in another way' },
    secret: true,
    extension: true,
  }),
  revokeCalendarLink: op({
    method: 'DELETE',
    path: '/oncall/schedules/{id}/calendar-links/{linkId}',
    summary: 'Revoke a calendar’s link for good',
    permission: 'oncall.schedule.write',
    responses: { 204: null },
    extension: true,
  }),
};
