import { type Columns, id, text, titled, wide } from '../column.ts';

const steps: Columns = [titled('target.label', 'PAGES'), titled('target.kind', 'KIND'), titled('target.id', 'ID'), 'waitSeconds'];
const participants: Columns = [titled('label', 'NAME'), id('userId')];
const overrides: Columns = [titled('label', 'NAME'), titled('startsAt', 'FROM', 'time'), titled('endsAt', 'UNTIL', 'time'), id('id')];
const pagingRules: Columns = ['channel', titled('delaySeconds', 'AFTER', 'duration')];
const testPages: Columns = [
  'channel',
  'state',
  'address',
  'attempts',
  text('error'),
  wide('warning', { as: 'text' }),
  id('id', { wide: true }),
  wide('sentAt'),
  wide('endedAt'),
];
const story: Columns = [titled('at', 'AT', 'time'), 'area', 'kind', text('title', 'WHAT'), wide('detail', { as: 'text' })];

/** On-call's part of `columns`. */
export const oncallColumns: Record<string, Record<string, Columns>> = {
  listAlertSources: {
    sources: [
      id('id'),
      'name',
      'lastEventAt',
      text('lastProblem.message', 'LAST PROBLEM'),
      'createdAt',
      wide('serviceId', { head: 'SERVICE' }),
    ],
  },
  examineOncall: {
    services: [
      titled('name', 'SERVICE'),
      { key: 'paged', as: 'state' },
      titled('by.label', 'FIRST'),
      text('problems'),
      wide('by.channel', { head: 'BY' }),
      id('serviceId', { head: 'ID', wide: true }),
    ],
  },
  listEscalationPolicies: {
    policies: [id('id'), 'name', { key: 'steps', as: 'count' }, 'services', 'repeat', 'createdAt', wide('remindAfterSeconds')],
  },
  createEscalationPolicy: { steps },
  updateEscalationPolicy: { steps },
  listIncidents: {
    incidents: [
      id('id'),
      'status',
      titled('serviceName', 'SERVICE'),
      text('title'),
      titled('firingAlerts', 'FIRING'),
      titled('openedAt', 'AGE'),
      wide('acknowledgedAt'),
      wide('resolvedAt'),
    ],
  },
  getIncident: {
    alerts: [
      'status',
      titled('sourceName', 'SOURCE'),
      text('title'),
      'deliveries',
      titled('startsAt', 'SINCE', 'age'),
      wide('generatorURL'),
      id('id', { wide: true }),
    ],
    timeline: [titled('at', 'AGE'), 'kind', text('message'), titled('actor.label', 'BY')],
    updates: [titled('at', 'AGE'), titled('byLabel', 'BY'), 'kind', text('body')],
    pages: [titled('label', 'WHO'), 'channel', 'state', 'attempts', 'sentAt', text('error'), wide('dueAt'), id('id', { wide: true })],
  },
  getIncidentStory: {
    before: story,
    entries: story,
    withheld: ['area', text('what'), 'permission'],
    unavailable: ['area', text('reason')],
  },
  getPagingSettings: { rules: pagingRules },
  savePagingSettings: { rules: pagingRules },
  testPaging: { pages: testPages },
  getPagingTest: { pages: testPages },
  listSchedules: {
    schedules: [
      id('id'),
      'name',
      titled('onCallNow.label', 'ON CALL'),
      titled('onCallNow.until', 'UNTIL', 'age'),
      'timezone',
      wide('participants'),
      wide('createdAt'),
    ],
  },
  createSchedule: { participants, overrides },
  updateSchedule: { participants, overrides },
  listCalendarLinks: { links: [id('id'), 'name', 'createdAt'] },
  listScheduleShifts: {
    shifts: [
      titled('label', 'ON CALL'),
      titled('startsAt', 'FROM', 'time'),
      titled('endsAt', 'UNTIL', 'time'),
      titled('overrideId', 'OVERRIDE'),
      wide('userId'),
    ],
  },
  listShifts: {
    schedules: [id('id'), 'name', 'timezone'],
    shifts: [
      titled('label', 'ON CALL'),
      titled('scheduleName', 'SCHEDULE'),
      titled('startsAt', 'FROM', 'time'),
      titled('endsAt', 'UNTIL', 'time'),
      'mine',
      wide('overrideId', { head: 'OVERRIDE' }),
      wide('userId'),
      wide('scheduleId'),
    ],
    gaps: [titled('scheduleName', 'GAP IN'), titled('startsAt', 'FROM', 'time'), titled('endsAt', 'UNTIL', 'time'), id('scheduleId')],
  },
  listOncallServices: { services: [id('id'), 'name', titled('escalationPolicyId', 'POLICY'), 'createdAt'] },
  previewServiceEscalation: {
    steps: [
      titled('at', 'WHEN', 'age'),
      titled('target.label', 'TARGET'),
      titled('responder.label', 'WHO'),
      text('pages'),
      text('problem'),
      wide('pass'),
      wide('step'),
    ],
  },
};
