import Type from 'typebox';
import { DateTime, DateTimeInput, Id, input, Name, named, oneOf, op } from '../common.ts';

const label = Type.String({ maxLength: 100, description: 'How the person is shown; empty: their name in the directory' });
const userId = Id('A member of the organization');

const participant = { userId, label };
const handoff = {
  interval: oneOf(['daily', 'weekly']),
  dow: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 7,
      description: 'Day of the week, 0 and 7 Sunday; Monday when a weekly one has none; daily ignores it',
    }),
  ),
  time: Type.String({
    maxLength: 5,
    pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
    description: '`HH:MM` from 00:00 to 23:59; in the schedule’s time zone',
  }),
};

const OncallParticipant = named('OncallParticipant', Type.Object({ userId: Type.String(), label: Type.String() }));
const OncallHandoff = named('OncallHandoff', Type.Object(handoff));
const OncallParticipantInput = named('OncallParticipantInput', input(participant));
const OncallHandoffInput = named('OncallHandoffInput', input(handoff));

const OncallOverride = named(
  'OncallOverride',
  Type.Object({ id: Type.String(), userId: Type.String(), label: Type.String(), startsAt: DateTime, endsAt: DateTime }),
);

const OncallNow = named(
  'OncallNow',
  Type.Object({
    userId: Type.String(),
    label: Type.String(),
    until: DateTime,
    override: Type.Boolean({ description: 'Whether an override put them there' }),
  }),
);

const OncallSchedule = named(
  'OncallSchedule',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    timezone: Type.String(),
    participants: Type.Array(OncallParticipant),
    handoff: OncallHandoff,
    onCallNow: Type.Optional(OncallNow),
    overrides: Type.Array(OncallOverride),
    createdAt: DateTime,
  }),
);

const OncallShift = named(
  'OncallShift',
  Type.Object({
    userId: Type.String(),
    label: Type.String(),
    startsAt: DateTime,
    endsAt: DateTime,
    overrideId: Type.Optional(Type.String({ description: 'Present when an override put them there' })),
  }),
);

const timezone = Type.String({ minLength: 1, maxLength: 64, description: 'An IANA name, such as Europe/Paris' });
const participants = Type.Array(OncallParticipantInput, {
  maxItems: 100,
  description: 'In the order in which they take turns; reordering shifts the rotation; empty: no one is on call',
});

export const scheduleOps = {
  listSchedules: op({
    method: 'GET',
    path: '/oncall/schedules',
    summary: 'List schedules and who is on call now',
    description: 'Each is one rotation with its overrides. `onCallNow` is computed as you read it; an active override wins outright.',
    permission: 'oncall.schedule.read',
    responses: { 200: Type.Object({ schedules: Type.Array(OncallSchedule) }) },
  }),
  createSchedule: op({
    method: 'POST',
    path: '/oncall/schedules',
    summary: 'Create a schedule',
    description: 'The first participant is on call from its creation until the first handoff.',
    permission: 'oncall.schedule.write',
    body: input({ name: Name, timezone, participants, handoff: OncallHandoffInput }),
    responses: { 201: OncallSchedule },
    errors: {
      400: 'an unknown time zone, a participant who is no member, or an invalid field',
      409: 'the organization has 200 schedules, or the Idempotency-Key was used before in another way',
    },
  }),
  updateSchedule: op({
    method: 'PATCH',
    path: '/oncall/schedules/{id}',
    summary: 'Change a schedule',
    description:
      'Participants and handoff are replaced whole. Adding or removing participants, or another time zone or handoff, leaves the current shift to the person now on call; another order of the same people shifts the rotation.',
    permission: 'oncall.schedule.write',
    body: input({
      name: Type.Optional(Name),
      timezone: Type.Optional(timezone),
      participants: Type.Optional(participants),
      handoff: Type.Optional(OncallHandoffInput),
    }),
    responses: { 200: OncallSchedule },
    errors: { 400: 'an unknown time zone, a participant who is no member, or an invalid field' },
  }),
  deleteSchedule: op({
    method: 'DELETE',
    path: '/oncall/schedules/{id}',
    summary: 'Delete a schedule',
    permission: 'oncall.schedule.write',
    responses: { 204: null },
    errors: { 409: 'an escalation step still targets the schedule; the sentence names its policy' },
  }),
  addScheduleOverride: op({
    method: 'POST',
    path: '/oncall/schedules/{id}/overrides',
    summary: 'Put somebody on call for a while',
    description: 'A one-off substitution, resolved before escalation targets are computed. Where overrides overlap the one made last wins.',
    permission: 'oncall.schedule.write',
    body: input({ userId, label, startsAt: DateTimeInput, endsAt: DateTimeInput }),
    responses: { 201: OncallOverride },
    errors: {
      400: 'the end is not after the start or lies in the past, the user is no member, or a field is invalid',
      409: 'the schedule has 1,000 overrides under way and ahead or the organization 5,000, or the Idempotency-Key was used before in another way',
    },
  }),
  removeScheduleOverride: op({
    method: 'DELETE',
    path: '/oncall/schedules/{id}/overrides/{oid}',
    summary: 'Remove an override',
    permission: 'oncall.schedule.write',
    responses: { 204: null },
  }),
  listScheduleShifts: op({
    method: 'GET',
    path: '/oncall/schedules/{id}/shifts',
    summary: 'Who is on call when',
    description:
      'The same computation that pages: rotation and overrides, oldest first. By default from now for 28 days; at most 366 days at once, in the years 2000 to 2099.',
    permission: 'oncall.schedule.read',
    query: input({ from: Type.Optional(DateTimeInput), to: Type.Optional(DateTimeInput) }),
    responses: { 200: Type.Object({ shifts: Type.Array(OncallShift) }) },
    errors: {
      400: '`to` is not after `from`, the two are more than 366 days apart, or a time is invalid or not in the years 2000 to 2099',
    },
    extension: true,
  }),
  listShifts: op({
    method: 'GET',
    path: '/oncall/shifts',
    summary: 'Who is on call when, in every schedule',
    description:
      'The shifts of all schedules in one answer, oldest first, with the times in which a schedule has no person on call. By default from now for 28 days, at most 62 days at once. A window with more than 10,000 shifts is refused.',
    permission: 'oncall.schedule.read',
    query: input({
      from: Type.Optional(DateTimeInput),
      to: Type.Optional(DateTimeInput),
      mine: Type.Optional(Type.Boolean({ description: 'Only the caller’s own shifts, and no gaps; false by default' })),
    }),
    responses: {
      200: Type.Object({
        from: DateTime,
        to: DateTime,
        schedules: Type.Array(Type.Object({ id: Type.String(), name: Type.String(), timezone: Type.String() }), {
          description: 'By name; also those without a shift in the window',
        }),
        shifts: Type.Array(
          Type.Object({
            scheduleId: Type.String(),
            scheduleName: Type.String(),
            userId: Type.String(),
            label: Type.String({ description: 'The name of the person' }),
            mine: Type.Boolean({ description: 'Whether the person is the caller' }),
            startsAt: DateTime,
            endsAt: DateTime,
            overrideId: Type.Optional(Type.String({ description: 'Present when an override put them there' })),
          }),
        ),
        gaps: Type.Optional(
          Type.Array(Type.Object({ scheduleId: Type.String(), scheduleName: Type.String(), startsAt: DateTime, endsAt: DateTime }), {
            description: 'No person of the schedule is on call; absent with `mine`',
          }),
        ),
      }),
    },
    errors: {
      400: '`to` is not after `from`, the two are more than 62 days apart, the window holds too many shifts, or a time is invalid or not in the years 2000 to 2099',
    },
    extension: true,
  }),
  getScheduleCalendar: op({
    method: 'GET',
    path: '/oncall/schedules/{id}/calendar.ics',
    summary: 'The shifts as an iCalendar feed',
    description: 'From 28 days ago for a year, in UTC, with stable event ids, so that a calendar can subscribe to it.',
    permission: 'oncall.schedule.read',
    responses: { 200: Type.String() },
    produces: 'text/calendar',
    extension: true,
  }),
};
